import assert from 'node:assert/strict';
import { after, describe, test, type TestContext } from 'node:test';
import { type UserRevocations, userRevocations } from '../../../runtime/revocations/index.ts';
import { systemClock } from '../../../runtime/process/index.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { onRedis } from '../store/stores.ts';
import { faultyStore } from '../auth-server/grants/faulty-store.ts';

const HOUR_MS = 3_600_000;
const soon = { timeoutMs: 5_000, intervalMs: 5 };

const opened = (
  context: TestContext,
  store: Store,
  { clock = systemClock, isShared = false } = {},
): UserRevocations => {
  const revocations = userRevocations({ store, clock, isShared, keptMs: HOUR_MS });
  context.after(() => revocations.close());
  return revocations;
};

describe('what was issued to a user whose access ends', () => {
  test('counts no more at the replica that did it, up to this moment', async (context) => {
    const clock = frozenClock();
    const store = memoryStore({ clock });
    context.after(() => store.close());
    const revocations = opened(context, store, { clock });
    await revocations.isLoaded;
    await revocations.revoke('grace');
    assert.equal(revocations.isRevoked('grace', clock.now()), true);
    assert.equal(revocations.isRevoked('grace', clock.now() + 1), false);
    assert.equal(revocations.isRevoked('heidi', clock.now()), false);
  });

  test('is not known to be good before it is known whose access has ended, and that is asked until it is known', async (context) => {
    const clock = frozenClock();
    const store = faultyStore(clock);
    context.after(() => store.close());
    store.goAway();
    const revocations = opened(context, store, { clock });
    await new Promise(setImmediate);
    assert.equal(revocations.isRevoked('grace', clock.now()), undefined);
    store.comeBack();
    await revocations.isLoaded;
    assert.equal(revocations.isRevoked('grace', clock.now()), false);
  });

  test('is known no longer than it lives, so that the list ends', async (context) => {
    const clock = frozenClock();
    const store = memoryStore({ clock });
    context.after(() => store.close());
    const revocations = opened(context, store, { clock });
    await revocations.isLoaded;
    const atMs = clock.now();
    await revocations.revoke('grace');
    clock.advance(HOUR_MS);
    assert.equal(revocations.isRevoked('grace', atMs), true);
    clock.advance(10 * 60_000);
    assert.equal(revocations.isRevoked('grace', atMs), false);
    const restarted = opened(context, store, { clock });
    await restarted.isLoaded;
    assert.equal(restarted.isRevoked('grace', atMs), false);
  });
});

describe('a user whose access ends at another replica', { skip: noRedis }, async () => {
  const redis = noRedis === false ? await startRedis() : undefined;
  const stores: Store[] = [];
  const replica = async (context: TestContext): Promise<UserRevocations> => {
    const { store } = onRedis([redis?.address ?? '']);
    stores.push(store);
    await store.firstAnswer;
    const revocations = opened(context, store, { isShared: true });
    await revocations.isLoaded;
    return revocations;
  };
  after(async () => {
    for (const store of stores) await store.close();
    await redis?.stop();
  });

  test('is refused here within moments', async (context) => {
    const [here, there] = [await replica(context), await replica(context)];
    const issuedAtMs = Date.now();
    assert.equal(here.isRevoked('ivan', issuedAtMs), false);
    await there.revoke('ivan');
    await until('the message', async () => here.isRevoked('ivan', issuedAtMs) || undefined, soon);
  });

  test('is refused by a replica that starts later', async (context) => {
    const issuedAtMs = Date.now();
    await (await replica(context)).revoke('judy');
    assert.equal((await replica(context)).isRevoked('judy', issuedAtMs), true);
  });

  test('is refused by a replica that was cut off meanwhile', async (context) => {
    const [here, there] = [await replica(context), await replica(context)];
    const issuedAtMs = Date.now();
    // Its message reaches nobody: all are cut off from what is published.
    await redis?.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await there.revoke('mallory');
    await until('the list', async () => here.isRevoked('mallory', issuedAtMs) || undefined, soon);
  });

  test('loses what is open at every replica, which the one that was asked tells', async (context) => {
    const [here, there] = [await replica(context), await replica(context)];
    const meant: boolean[] = [];
    here.onRevoked((isMeant) => {
      meant.push(isMeant('oscar'), isMeant('peggy'));
      return { sessions: 2, streams: 1, calls: 3 };
    });
    there.onRevoked(() => ({ sessions: 1, streams: 0, calls: 0 }));
    const first = await there.revoke('oscar');
    assert.deepEqual(meant, [true, false]);
    assert.deepEqual(first.ended, { sessions: 3, streams: 1, calls: 3 });
    assert.ok(first.replicas >= 2);
    const again = await there.revoke('oscar');
    assert.ok(again.atMs > first.atMs, 'what was issued in between ends, too');
  });

  test('loses what is open at a replica that was cut off meanwhile', async (context) => {
    const [here, there] = [await replica(context), await replica(context)];
    const ended = Promise.withResolvers<boolean>();
    here.onRevoked((isMeant) => {
      ended.resolve(isMeant('quentin'));
      return { sessions: 0, streams: 0, calls: 0 };
    });
    await redis?.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await there.revoke('quentin');
    assert.equal(await ended.promise, true);
  });
});
