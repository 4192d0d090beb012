import { readFile } from 'node:fs/promises';
import type { Clock } from '../../../runtime/clock.ts';
import { type RedisStoreSettings, redisStore } from '../../../runtime/store/redis-store.ts';
import type { Store, StoreState } from '../../../runtime/store/store.ts';
import { systemClock } from '../../../runtime/system-clock.ts';

export interface Transition {
  readonly state: StoreState;
  readonly reason: string;
}

/** A store on the Redis at these addresses, and what its log would have said. */
export const onRedis = (
  addresses: readonly string[],
  settings: Partial<RedisStoreSettings> = {},
  clock: Clock = systemClock,
): { readonly store: Store; readonly transitions: readonly Transition[] } => {
  const transitions: Transition[] = [];
  const store = redisStore(
    {
      addresses,
      db: 0,
      keyPrefix: 'test:',
      username: undefined,
      password: async () => undefined,
      tls: undefined,
      sentinel: undefined,
      isCluster: false,
      times: { connectMs: 1_000, commandMs: 500, pingMs: 200 },
      ...settings,
    },
    {
      clock,
      random: Math.random,
      onTransition: (state, reason) => void transitions.push({ state, reason }),
    },
  );
  return { store, transitions };
};

export const tlsWith = (caFile: string | undefined, insecureSkipVerify = false) => ({
  ca: async () => (caFile === undefined ? undefined : readFile(caFile, 'utf8')),
  insecureSkipVerify,
});
