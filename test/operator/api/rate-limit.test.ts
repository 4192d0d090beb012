import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rateLimit } from '../../../operator/api/rate-limit.ts';
import { manualClock } from '../engine/manual-clock.ts';

test('a burst passes at once, the rest at the sustained rate and in order', async () => {
  const clock = manualClock(0);
  const limit = rateLimit({ requestsPerSecond: 10, burst: 2 }, clock);
  const passed: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    void limit(new AbortController().signal).then(() => passed.push(`${name}@${clock.now()}`));
  }
  await clock.advance(1000);
  assert.deepEqual(passed, ['a@0', 'b@0', 'c@100', 'd@200']);
});

test('after a pause the burst is there again, and no more than it', async () => {
  const clock = manualClock(0);
  const limit = rateLimit({ requestsPerSecond: 10, burst: 2 }, clock);
  const signal = new AbortController().signal;
  await clock.advance(60_000);
  let passed = 0;
  for (let count = 0; count < 5; count += 1) void limit(signal).then(() => (passed += 1));
  await clock.advance(0);
  assert.equal(passed, 2);
});

test('a waiting request can be aborted', async () => {
  const clock = manualClock(0);
  const limit = rateLimit({ requestsPerSecond: 1, burst: 1 }, clock);
  const stopping = new AbortController();
  await limit(stopping.signal);
  const waiting = limit(stopping.signal);
  stopping.abort(new Error('stopping'));
  await assert.rejects(waiting, /stopping/);
});

test('who has given up leaves its turn to others', async () => {
  const clock = manualClock(0);
  const limit = rateLimit({ requestsPerSecond: 1, burst: 1 }, clock);
  const stopping = new AbortController();
  const all = Array.from({ length: 100 }, () => limit(stopping.signal).catch(() => undefined));
  stopping.abort(new Error('no'));
  await Promise.all(all);
  let passed = false;
  void limit(new AbortController().signal).then(() => (passed = true));
  await clock.advance(2_000);
  assert.ok(passed);
});
