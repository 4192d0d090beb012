import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBuckets } from '../../../runtime/store/memory-buckets.ts';
import type { Bucket } from '../../../runtime/store/store.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** 0: a token was taken. */
const waitFor = (buckets: MemoryBuckets, asked: readonly Bucket[]): number => buckets.take(asked).waitMs;

const userBucket = (user: number, capacity = 2) => ({
  key: `user:${user}`,
  capacity,
  refillPeriodMs: 1_000,
  overflowKey: `overflow:${user % 2}`,
});

const full = (clock = frozenClock(), bound = 3) => {
  const buckets = new MemoryBuckets(clock, bound);
  for (let user = 0; user < bound; user += 1) assert.equal(waitFor(buckets, [userBucket(user)]), 0);
  return { clock, buckets };
};

test('at the bound, users who are counted already keep their own buckets', () => {
  const { buckets } = full();
  for (let user = 10; user < 100; user += 1) waitFor(buckets, [userBucket(user)]);
  for (let user = 0; user < 3; user += 1) {
    assert.equal(waitFor(buckets, [userBucket(user)]), 0);
    assert.ok(waitFor(buckets, [userBucket(user)]) > 0);
  }
});

test('at the bound, any number of further users get as many tokens as the buckets that they share hold', () => {
  const { buckets } = full();
  const taken = Array.from({ length: 1_000 }, (_, user) => waitFor(buckets, [userBucket(10 + user)]));
  assert.equal(taken.filter((wait) => wait === 0).length, 2 * 2);
});

test('at the bound, further users are served again as their shared bucket refills', () => {
  const { clock, buckets } = full();
  for (let user = 10; user < 20; user += 1) waitFor(buckets, [userBucket(user)]);
  const wait = waitFor(buckets, [userBucket(20)]);
  assert.equal(wait, 500);
  clock.advance(wait);
  assert.equal(waitFor(buckets, [userBucket(20)]), 0);
});

test('buckets that have ended make room for new users', () => {
  const { clock, buckets } = full();
  clock.advance(2_000);
  for (const user of [11, 13, 15])
    assert.deepEqual(
      [userBucket(user), userBucket(user)].map((each) => waitFor(buckets, [each])),
      [0, 0],
    );
  assert.ok(waitFor(buckets, [userBucket(11)]) > 0);
});

test('buckets without an overflow key always have room', () => {
  const { buckets } = full();
  const shared = { key: 'shared', capacity: 1, refillPeriodMs: 1_000 };
  assert.equal(waitFor(buckets, [shared]), 0);
  assert.equal(waitFor(buckets, [shared]), 1_000);
  assert.ok(waitFor(buckets, [shared, userBucket(0)]) > 0);
});
