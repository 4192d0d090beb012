import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import type { SessionRef } from '../../../runtime/store/session-name.ts';
import { type SessionBounds, sessionRecords } from '../../../runtime/store/session-records.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { hasCode } from './has-code.ts';
import { onRedis } from './stores.ts';
import { userOf } from '../../fixtures/callers.ts';

const START = { revision: '2025-11-25', capabilities: Buffer.from('{}'), clientInfo: undefined, createdAt: 0 };
const FEW = { ttlMs: 30_000, unusedTtlMs: 10_000, count: 32 };
const alice: Caller = userOf('alice');

/** Two replicas on one store. */
const replicas = (store: Store, bounds: SessionBounds) => {
  const replica = () => sessionRecords(store, bounds, { onCorrupt: () => {}, announceEnd: async () => {} });
  return { one: replica(), two: replica() };
};

/** On a store that nothing is in. */
const bounded = (newStore: () => Promise<Store>): void => {
  let count = 0;
  const newSession = (): SessionRef => ({ id: `bounded-${(count += 1)}`, caller: alice });

  test('they are bounded, whichever replica opens them: one more ends one that was never used', async () => {
    const store = await newStore();
    const { one, two } = replicas(store, FEW);
    const opened: SessionRef[] = [];
    for (let at = 0; at < 20 * FEW.count; at += 1) {
      const session = newSession();
      await (at % 2 === 0 ? one : two).create(session, START);
      opened.push(session);
    }
    const there = await Promise.all(opened.map((session) => one.isThere(session)));
    assert.ok(there.filter(Boolean).length <= FEW.count);
    assert.equal(there.at(-1), true);
    await store.close();
  });

  test('one that is used is never ended for a new one, which is refused until there is room', async () => {
    const store = await newStore();
    const { one, two } = replicas(store, FEW);
    const used: SessionRef[] = [];
    const refused: SessionRef[] = [];
    while (refused.length < 10 * FEW.count) {
      const session = newSession();
      try {
        await one.create(session, START);
        await (used.length % 2 === 0 ? two.keepAlive(session) : two.find(session));
        used.push(session);
      } catch (error) {
        assert.ok(hasCode('overloaded')(error));
        refused.push(session);
      }
    }
    assert.equal(used.length, FEW.count);
    for (const session of used) assert.equal(await one.isThere(session), true);
    for (const session of used) await two.end(session);
    for (const session of refused.slice(0, 1)) await one.create(session, START);
    await store.close();
  });
};

describe('how many sessions are kept in memory', () => {
  bounded(async () => memoryStore({ clock: systemClock }));
});

describe('how many sessions are kept in Redis', { skip: noRedis }, () => {
  let redis: TestRedis;
  let opened = 0;
  const newStore = async (): Promise<Store> => {
    const { store } = onRedis([redis.address], { keyPrefix: `bounded-${(opened += 1)}:` });
    await store.firstAnswer;
    return store;
  };
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());
  bounded(newStore);

  test('nothing stays of those that have ended, the count neither', async () => {
    const store = await newStore();
    const { one } = replicas(store, { ttlMs: 30, unusedTtlMs: 20, count: 10_000 });
    for (let at = 0; at < 20; at += 1) {
      await one.create({ id: `brief-${at}`, caller: alice }, START);
      await one.keepAlive({ id: `brief-${at}`, caller: alice });
    }
    await until(
      'nothing',
      async () => ((await redis.command('KEYS', `bounded-${opened}:*`)) === '' ? true : undefined),
      { intervalMs: 5 },
    );
    await store.close();
  });
});

test('one that has ended by itself makes room', async () => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  const { one } = replicas(store, { ...FEW, count: 1 });
  const session = (at: number): SessionRef => ({ id: `${at}`, caller: alice });
  const places = Array.from({ length: 200 }, (_, at) => session(at));
  const openAll = async (): Promise<number> => {
    let opened = 0;
    for (const each of places) {
      const isOpen = await one.create(each, START).then(
        () => one.keepAlive(each),
        () => false,
      );
      if (isOpen) opened += 1;
    }
    return opened;
  };
  assert.equal(await openAll(), 16);
  clock.advance(FEW.ttlMs);
  assert.equal(await openAll(), 16);
  await store.close();
});
