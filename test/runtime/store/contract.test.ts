import { after, before, describe } from 'node:test';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { systemClock } from '../../../runtime/system-clock.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { contract } from './contract.ts';
import { onRedis } from './stores.ts';

describe('a store in memory', () => {
  const store = memoryStore({ clock: systemClock });
  after(() => store.close());
  contract(() => store);
});

describe('a store in Redis', { skip: noRedis }, () => {
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
  contract(() => store);
});
