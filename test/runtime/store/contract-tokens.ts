import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bucket, type Store, STORE_LIMITS } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { bytes, type Given, LONG, soon } from './given-store.ts';
import { hasCode } from './has-code.ts';

/** 0: a token was taken from each. */
const waitFor = async (store: Store, buckets: readonly Bucket[]): Promise<number> =>
  (await store.takeTokens(buckets)).waitMs;

export const tokensContract = ({ given, newKey }: Given): void => {
  test('a bucket gives as many tokens as it holds, and tells when the next one is there', async () => {
    const [store, key] = [given(), newKey()];
    const bucket = { key, capacity: 3, refillPeriodMs: LONG };
    const waits = await Promise.all(Array.from({ length: 5 }, () => waitFor(store, [bucket])));
    assert.deepEqual(waits.slice(0, 3), [0, 0, 0]);
    for (const wait of waits.slice(3)) assert.ok(wait > LONG / 3 - 5_000 && wait <= LONG / 3, `${wait}`);
  });

  test('a call takes a token from each of several buckets, or from none', async () => {
    const [store, key] = [given(), newKey()];
    const large = { key: `{${key}}large`, capacity: 3, refillPeriodMs: LONG };
    const small = { key: `{${key}}small`, capacity: 1, refillPeriodMs: LONG };
    assert.equal(await waitFor(store, [large, small]), 0);
    for (let at = 0; at < 5; at += 1) assert.ok((await waitFor(store, [large, small])) > 0);
    assert.deepEqual([await waitFor(store, [large]), await waitFor(store, [large])], [0, 0]);
    assert.ok((await waitFor(store, [large])) > 0);
    assert.equal(await waitFor(store, []), 0);
  });

  test('a refusal names the bucket that takes longest', async () => {
    const [store, key] = [given(), newKey()];
    const quick = { key: `{${key}}quick`, capacity: 1, refillPeriodMs: LONG };
    const slow = { key: `{${key}}slow`, capacity: 1, refillPeriodMs: 2 * LONG };
    const full = { key: `{${key}}full`, capacity: 9, refillPeriodMs: LONG };
    assert.deepEqual(await store.takeTokens([quick, slow]), { waitMs: 0 });
    for (const [buckets, emptyAt] of [
      [[quick, slow, full], 1],
      [[full, slow, quick], 1],
      [[full, quick], 1],
      [[quick, full], 0],
    ] as const)
      assert.equal((await store.takeTokens(buckets)).emptyAt, emptyAt);
  });

  test('the tokens of buckets are counted without taking one', async () => {
    const [store, key] = [given(), newKey()];
    const bucket = { key: `{${key}}a`, capacity: 2, refillPeriodMs: LONG };
    const full = { key: `{${key}}b`, capacity: 5, refillPeriodMs: LONG };
    for (const available of [2, 1, 0]) {
      const [count, other] = await store.countTokens([bucket, full]);
      assert.deepEqual([count?.available, other], [available, { available: 5, waitMs: 0 }]);
      const waitMs = await waitFor(store, [bucket]);
      assert.ok(Math.abs(waitMs - (count?.waitMs ?? 0)) < 5_000);
    }
    assert.deepEqual(await store.countTokens([]), []);
  });

  test('tokens come back evenly, and never more than there is room for', async () => {
    const [store, key] = [given(), newKey()];
    const bucket = { key, capacity: 2, refillPeriodMs: 60 };
    await until('an empty bucket', async () => ((await waitFor(store, [bucket])) > 0 ? true : undefined), soon);
    const wait = await waitFor(store, [bucket]);
    assert.ok(wait <= 30, `${wait}`);
    await until('a token', async () => ((await waitFor(store, [bucket])) === 0 ? true : undefined), soon);
  });

  test('a bucket whose size changes keeps count of the tokens that are spent', async () => {
    const [store, key] = [given(), newKey()];
    const sized = (capacity: number) => ({ key, capacity, refillPeriodMs: LONG });
    for (let at = 0; at < 3; at += 1) assert.equal(await waitFor(store, [sized(100)]), 0);
    assert.ok((await waitFor(store, [sized(3)])) > 0);
    assert.equal(await waitFor(store, [sized(4)]), 0);
    assert.ok((await waitFor(store, [sized(4)])) > 0);
    assert.equal(await waitFor(store, [sized(1_000)]), 0);
  });

  test('a key that holds something else is a full bucket', async () => {
    const [store, map, value] = [given(), newKey(), newKey()];
    await store.createMap(map, new Map([['a', bytes('1')]]), LONG);
    await store.set(value, bytes('none'), LONG);
    for (const key of [map, value]) {
      const bucket = { key, capacity: 1, refillPeriodMs: LONG };
      assert.equal(await waitFor(store, [bucket]), 0);
      assert.ok((await waitFor(store, [bucket])) > 0);
    }
  });

  test('a bucket that would be kept for too long is refused, with the others of its call', async () => {
    const [store, key] = [given(), newKey()];
    const good = { key: `{${key}}good`, capacity: 1, refillPeriodMs: LONG };
    for (const refillPeriodMs of [0, Number.NaN, STORE_LIMITS.ttlMs])
      await assert.rejects(
        async () => store.takeTokens([good, { key: `{${key}}bad`, capacity: 1, refillPeriodMs }]),
        hasCode('internal'),
      );
    assert.equal(await waitFor(store, [good]), 0);
  });
};
