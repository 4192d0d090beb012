import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortAfter, backoffMs } from '../../../runtime/process/clock.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

test('a back-off doubles up to its longest delay, and chance takes off up to its jitter', () => {
  const range = { baseMs: 100, maxMs: 1_000, jitter: 0.2 };
  const full = [1, 2, 3, 4, 5, 5_000].map((attempt) => backoffMs(attempt, range, () => 1));
  assert.deepEqual(full, [100, 200, 400, 800, 1_000, 1_000]);
  assert.equal(
    backoffMs(1, range, () => 0),
    80,
  );
});

test('a deadline follows the clock it was given', () => {
  const clock = frozenClock();
  const signal = abortAfter(clock, 1_000);
  clock.advance(999);
  assert.equal(signal.aborted, false);
  clock.advance(1);
  assert.equal((signal.reason as Error).name, 'TimeoutError');
});
