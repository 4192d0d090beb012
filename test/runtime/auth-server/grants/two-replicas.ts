import { after, before, describe } from 'node:test';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { noRedis, startRedis } from '../../../fixtures/redis.ts';
import { onRedis } from '../../store/stores.ts';
import { type Replica, type ReplicaSettings, startReplica } from './provider.ts';

/** Two replicas, a store between them, and a clock that a test moves. */
export interface Replicas {
  readonly clock: FrozenClock;
  /** Addresses. */
  readonly a: string;
  readonly b: string;
  readonly store: Store;
  readonly settings: ReplicaSettings;
  /** A further one with other settings, until the end of the test. */
  readonly another: (more: Partial<ReplicaSettings>) => Promise<string>;
}

/** Tests that hold of replicas on a store in memory, and of replicas on a real Redis. */
export const onTwoReplicas = (what: string, tests: (replicas: () => Replicas) => void): void => {
  describe(`${what}, in memory`, () => {
    replicasOn(async (clock) => ({ stores: sharedTwice(memoryStore({ clock })) }), tests);
  });
  describe(`${what}, in Redis`, { skip: noRedis }, () => {
    replicasOn(async (clock) => {
      const redis = await startRedis();
      // With the machine's clock, by which it waits for answers; the time of the server is that of the tests.
      const stores = [0, 1].map(() => onRedis([redis.address]).store);
      await Promise.all(stores.map(({ firstAnswer }) => firstAnswer));
      return { stores: stores.map((store) => withClock(store, clock)), stop: redis.stop };
    }, tests);
  });
};

const withClock = (store: Store, clock: FrozenClock): Store => ({
  ...store,
  readMap: async (...how) => {
    const fields = await store.readMap(...how);
    return fields && Object.assign(fields, { readAtMs: clock.now() });
  },
});

const sharedTwice = (store: Store): readonly Store[] => [store, store];

interface Stores {
  readonly stores: readonly Store[];
  readonly stop?: () => Promise<void>;
}

const replicasOn = (open: (clock: FrozenClock) => Promise<Stores>, tests: (replicas: () => Replicas) => void): void => {
  const running: Replica[] = [];
  let stores: Stores;
  let replicas: Replicas;
  before(async () => {
    const clock = frozenClock(Date.now());
    stores = await open(clock);
    const [first, second] = stores.stores;
    if (!first || !second) throw new Error('a store for each replica');
    const start = async (settings: ReplicaSettings): Promise<string> => {
      const replica = await startReplica(settings);
      running.push(replica);
      return replica.url;
    };
    const settings = { store: first, clock };
    replicas = {
      clock,
      settings,
      store: first,
      a: await start(settings),
      b: await start({ ...settings, store: second }),
      another: (more) => start({ ...settings, ...more }),
    };
  });
  after(async () => {
    for (const replica of running) await replica.stop();
    for (const store of new Set(stores.stores)) await store.close();
    await stores.stop?.();
  });
  tests(() => replicas);
};
