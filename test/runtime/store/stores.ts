import { readFile } from 'node:fs/promises';
import { after, before, describe } from 'node:test';
import type { Clock } from '../../../runtime/process/clock.ts';
import { secretReader } from '../../../runtime/process/read-secret.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { redisStore } from '../../../runtime/store/redis-store.ts';
import type { Store, StoreState } from '../../../runtime/store/store.ts';
import type { RedisSettings } from '../../../runtime/store/store-settings.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';

export interface Transition {
  readonly state: StoreState;
  readonly reason: string;
}

interface RedisSurroundings {
  readonly clock?: Clock;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A store on the Redis at these addresses, and what its log would have said. */
export const onRedis = (
  addresses: readonly string[],
  settings: Partial<RedisSettings> = {},
  { clock = systemClock, environment = {} }: RedisSurroundings = {},
): { readonly store: Store; readonly transitions: readonly Transition[] } => {
  const transitions: Transition[] = [];
  const store = redisStore(
    {
      kind: 'redis',
      addresses,
      db: 0,
      keyPrefix: 'test:',
      isCluster: false,
      times: { connectMs: 1_000, commandMs: 500, pingMs: 200 },
      ...settings,
    },
    {
      clock,
      random: Math.random,
      readFile: readText,
      readSecret: secretReader({ readFile: readText, environment: (name) => environment[name] }),
      onTransition: (state, reason) => void transitions.push({ state, reason }),
    },
  );
  return { store, transitions };
};

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

/** What holds of a store in memory and of one in Redis, where there is one; `inRedis` of the latter alone. */
export const inEveryStore = (
  what: string,
  tests: (store: () => Store) => void,
  inRedis: (store: () => Store, redis: () => TestRedis) => void = () => {},
): void => {
  describe(`${what} in memory`, () => {
    const store = memoryStore({ clock: systemClock });
    after(() => store.close());
    tests(() => store);
  });
  describe(`${what} in Redis`, { skip: noRedis }, () => {
    let redis: TestRedis;
    let store: Store;
    before(async () => {
      redis = await startRedis();
      store = onRedis([redis.address]).store;
      await store.firstAnswer;
    });
    after(async () => {
      await store.close();
      await redis.stop();
    });
    tests(() => store);
    inRedis(
      () => store,
      () => redis,
    );
  });
};
