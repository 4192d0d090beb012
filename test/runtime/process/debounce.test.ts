import assert from 'node:assert/strict';
import { test } from 'node:test';
import { debounce } from '../../../runtime/process/debounce.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const noted = () => {
  const clock = frozenClock();
  const began = clock.now();
  const runs: number[] = [];
  const events = debounce({ quietMs: 100, atLatestMs: 250 }, clock, () => runs.push(clock.now() - began));
  return { ...events, clock, runs };
};

test('a burst of events is one run, once it is quiet', () => {
  const { note, clock, runs } = noted();
  note();
  clock.advance(99);
  note();
  clock.advance(99);
  assert.deepEqual(runs, []);
  clock.advance(10_000);
  assert.deepEqual(runs, [199]);
});

test('events without end do not put the run off for ever, and each burst has its own time', () => {
  const { note, clock, runs } = noted();
  for (let passed = 0; passed < 600; passed += 50) {
    note();
    clock.advance(50);
  }
  assert.deepEqual(runs, [250, 500]);
});

test('what was noted can be forgotten', () => {
  const { note, cancel, clock, runs } = noted();
  note();
  cancel();
  clock.advance(10_000);
  assert.deepEqual(runs, []);
  note();
  clock.advance(100);
  assert.deepEqual(runs, [10_100]);
});
