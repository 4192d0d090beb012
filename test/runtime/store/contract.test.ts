import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { covers } from '../../requirements.ts';
import { contract } from './contract.ts';
import { LONG } from './given-store.ts';
import { inEveryStore, onRedis } from './stores.ts';

inEveryStore('a store', contract, (given, redis) => {
  test('buckets refill by the clock of Redis, however wrong those of the replicas are', async (t) => {
    const bucket = { key: 'limited', capacity: 2, refillPeriodMs: LONG };
    const early = onRedis([redis().address], {}, { clock: frozenClock(0) }).store;
    const late = onRedis([redis().address], {}, { clock: frozenClock(Date.UTC(2100, 0, 1)) }).store;
    t.after(() => Promise.all([early.close(), late.close()]));
    await Promise.all([early.firstAnswer, late.firstAnswer]);
    for (const store of [early, late]) assert.deepEqual(await store.takeTokens([bucket]), { waitMs: 0 });
    for (const store of [given(), early, late]) {
      const { waitMs } = await store.takeTokens([bucket]);
      assert.ok(waitMs > LONG / 2 - 5_000 && waitMs <= LONG / 2, `${waitMs}`);
    }
  });

  covers('limits.per-user-key-ttl');
  test('a bucket lives for twice its refill period after each token that is taken', async () => {
    const bucket = { key: 'renewed', capacity: 5, refillPeriodMs: LONG };
    const lifeMs = async (): Promise<number> => Number(await redis().command('PTTL', 'test:renewed'));
    await given().takeTokens([bucket]);
    await redis().command('PEXPIRE', 'test:renewed', '1000');
    await given().takeTokens([bucket]);
    const life = await lifeMs();
    assert.ok(life > 2 * LONG - 5_000 && life <= 2 * LONG, `${life}`);
  });
});
