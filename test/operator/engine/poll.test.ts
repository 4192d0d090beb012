import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Polled, poll } from '../../../operator/engine/poll.ts';
import { manualClock } from './manual-clock.ts';

test('it is asked again at its interval, whatever failed before, until the term ends', async () => {
  const clock = manualClock();
  const start = clock.now();
  const term = new AbortController();
  const seen: string[] = [];
  const answers = [() => Promise.reject(new Error('no answer')), () => Promise.resolve(false)];
  const refresh = (): Promise<boolean> => answers.shift()?.() ?? Promise.resolve(true);
  const at = (): number => (clock.now() - start) / 1000;
  const followed: Polled = {
    refresh,
    everyMs: 30_000,
    onChange: () => seen.push(`changed@${at()}`),
    onFailure: () => seen.push(`failed@${at()}`),
  };
  const ended = poll(followed, clock, term.signal);
  await clock.advance(120_000);
  assert.deepEqual(seen, ['failed@30', 'changed@90', 'changed@120']);
  term.abort();
  await ended;
});
