import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { TAKE_TOKENS } from '../../../runtime/store/redis-scripts.ts';
import type { Bucket } from '../../../runtime/store/store.ts';
import { bucketLifeMs, type BucketState, periodUsOf, takeFrom } from '../../../runtime/store/token-buckets.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { covers } from '../../requirements.ts';

const capacities = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 31 - 1 }));
const periods = fc.oneof(
  fc.integer({ min: 1, max: 5_000 }),
  fc.integer({ min: 1, max: 180 * 24 * 3_600_000 }),
  fc.integer({ min: 1_000, max: 5_000_000 }).map((us) => us / 1_000),
);
const sizes = fc.record({ capacity: capacities, refillPeriodMs: periods });
/** Pauses as parts of a period, so that every state of a bucket is met. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true })), { maxLength: 60 });

/** Buckets that have given some of their tokens, often all. */
const used = fc.record({
  capacity: capacities,
  refillPeriodMs: periods,
  spent: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
});
const spentOf = ({ capacity, spent }: { readonly capacity: number; readonly spent: number }): number =>
  Math.floor(capacity * spent);

const START_US = 1_800_000_000_000_000;

/** A bucket as the documentation describes it, in exact fractions: `level` / (capacity × period) tokens. */
const exactBucket = ({ capacity, refillPeriodMs }: Omit<Bucket, 'key'>, spent: number) => {
  const [size, period] = [BigInt(capacity), BigInt(periodUsOf({ key: '', capacity, refillPeriodMs }))];
  // One token is `period` units, and `capacity` units return in each microsecond.
  let [level, last] = [(size - BigInt(spent)) * period, BigInt(START_US)];
  const at = (nowUs: number): void => {
    const returned = (BigInt(nowUs) - last) * size;
    level = level + returned > size * period ? size * period : level + returned;
    last = BigInt(nowUs);
  };
  return {
    /** Microseconds until there is a token, rounded up. */
    wait: (nowUs: number): number => {
      at(nowUs);
      return level >= period ? 0 : Number((period - level + size - 1n) / size);
    },
    take: (): void => void (level -= period),
  };
};

covers('ratelimit.bucket.refill-rate', 'ratelimit.bucket.refill-period', 'ratelimit.bucket.capacity');
test('buckets agree with exact fractions to the microsecond, whatever their size and history', () => {
  fc.assert(
    fc.property(fc.array(used, { minLength: 1, maxLength: 3 }), pauses, (all, steps) => {
      const buckets = all.map((size, index) => ({ ...size, key: `${index}` }));
      const exact = all.map((each) => exactBucket(each, spentOf(each)));
      let states: readonly BucketState[] = buckets.map((bucket) => ({
        spent: spentOf(bucket),
        at: START_US,
        capacity: bucket.capacity,
        periodUs: periodUsOf(bucket),
      }));
      let nowUs = START_US;
      for (const pause of steps) {
        nowUs += Math.floor((pause * periodUsOf(buckets[0] ?? assert.fail())) / (pause < 1.5 ? 10 : 1));
        const waitUs = Math.max(...exact.map((each) => each.wait(nowUs)));
        const taken = takeFrom(buckets, states, nowUs);
        if (!taken.isTaken) assert.equal(taken.waitMs, Math.ceil(waitUs / 1_000));
        else {
          assert.equal(waitUs, 0);
          for (const each of exact) each.take();
          ({ states } = taken);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a limit that changes loses no token that is spent, and gives none twice', () => {
  fc.assert(
    fc.property(
      sizes,
      sizes,
      fc.integer({ min: 0, max: 30 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (a, b, n, part) => {
        let states: readonly BucketState[] = [];
        for (let at = 0; at < Math.min(n, a.capacity); at += 1) {
          const taken = takeFrom([{ ...a, key: 'k' }], states, START_US);
          assert.ok(taken.isTaken);
          ({ states } = taken);
        }
        const nowUs = START_US + Math.floor(part * periodUsOf({ ...a, key: 'k' }));
        const first = takeFrom([{ ...b, key: 'k' }], states, nowUs);
        const spent = Math.min(n, a.capacity) - (a.capacity * (nowUs - START_US)) / periodUsOf({ ...a, key: 'k' });
        if (spent + 1 <= b.capacity - 1e-3) assert.ok(first.isTaken);
        if (spent + 1 >= b.capacity + 1e-3) assert.ok(!first.isTaken);
      },
    ),
  );
});

test('a clock that is set back neither refills a bucket nor locks it', () => {
  const bucket = { key: 'k', capacity: 2, refillPeriodMs: 1_000 };
  let taken = takeFrom([bucket], [], START_US);
  assert.ok(taken.isTaken);
  taken = takeFrom([bucket], taken.states, START_US - 3_600_000_000);
  assert.ok(taken.isTaken);
  const { states } = taken;
  assert.deepEqual(takeFrom([bucket], states, START_US - 3_600_000_000), { isTaken: false, waitMs: 500, emptyAt: 0 });
  assert.ok(takeFrom([bucket], states, START_US - 3_600_000_000 + 500_000).isTaken);
});

describe('in Redis', { skip: noRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());

  test('the script computes the same, change of size included', async () => {
    // The time of the server, given by the test.
    const text = TAKE_TOKENS.text.replace("redis.call('TIME')", '{ ARGV[#ARGV - 1], ARGV[#ARGV] }');
    assert.notEqual(text, TAKE_TOKENS.text);
    const sha = await redis.command('SCRIPT', 'LOAD', text);
    let run = 0;
    const histories = fc.tuple(
      fc.array(sizes, { minLength: 1, maxLength: 3 }),
      fc.array(sizes, { minLength: 1, maxLength: 3 }),
      pauses,
    );
    await fc.assert(
      fc.asyncProperty(histories, async ([before_, after_, steps]) => {
        const names = Array.from(
          { length: Math.min(before_.length, after_.length) },
          (_, at) => `{${(run += 1)}}${at}`,
        );
        let states: readonly (BucketState | undefined)[] = [];
        let nowUs = START_US;
        for (const [step, pause] of steps.slice(0, 12).entries()) {
          const buckets = names.map((key, at) => ({ key, ...((step < 6 ? before_ : after_)[at] ?? assert.fail()) }));
          nowUs += Math.floor((pause * periodUsOf(buckets[0] ?? assert.fail())) / 10);
          const taken = takeFrom(buckets, states, nowUs);
          if (taken.isTaken) ({ states } = taken);
          const args = buckets.flatMap((each) => [
            each.capacity,
            periodUsOf(each),
            Math.ceil(bucketLifeMs(each)) + 60_000,
          ]);
          const time = [Math.floor(nowUs / 1_000_000), nowUs % 1_000_000];
          const answer = await redis.command(
            'EVALSHA',
            sha,
            `${names.length}`,
            ...names,
            ...[...args, ...time].map(String),
          );
          const expected = taken.isTaken ? [0, 0] : [taken.waitMs, taken.emptyAt];
          assert.deepEqual(answer.split('\n').map(Number), expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});
