import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedQueue } from '../../../operator/engine/queue.ts';
import type { WorkResult } from '../../../operator/engine/queue.ts';
import { manualClock } from './manual-clock.ts';
import { startQueue } from './queue-under-test.ts';
test('a key waits until it has been quiet, however often it is touched', async () => {
  const { clock, queue, taken } = startQueue();
  queue.add('a');
  await clock.advance(400);
  queue.add('a');
  await clock.advance(499);
  assert.deepEqual(taken, []);
  await clock.advance(1);
  assert.deepEqual(taken, ['a@900']);
});

test('a key that never becomes quiet is taken up after the longest wait', async () => {
  const { clock, queue, taken } = startQueue();
  for (let ms = 0; ms < 3500; ms += 250) {
    queue.add('a');
    await clock.advance(250);
  }
  assert.equal(taken[0], 'a@3000');
});

test('a key touched while it is worked on is worked on once more, and never by two workers', async () => {
  const first = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => (taken.length === 1 ? first.promise : Promise.resolve({})));
  queue.add('a');
  await clock.advance(500);
  queue.add('a');
  await clock.advance(5000);
  assert.deepEqual(taken, ['a@500']);
  first.resolve({});
  await clock.advance(0);
  assert.deepEqual(taken, ['a@500', 'a@5500']);
});

test('no more keys are worked on at once than there are workers', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => gate.promise);
  ['a', 'b', 'c'].forEach((key) => queue.add(key));
  await clock.advance(500);
  assert.deepEqual(taken, ['a@500', 'b@500']);
  gate.resolve({});
  await clock.advance(0);
  assert.deepEqual(taken, ['a@500', 'b@500', 'c@500']);
});

test('a key whose work throws comes back with growing delays up to the longest, and from the shortest after a success', async () => {
  const { clock, queue, failures } = startQueue(() =>
    failures.length < 5 ? Promise.reject(new Error('no')) : Promise.resolve({}),
  );
  queue.add('a');
  await clock.advance(60_000);
  assert.deepEqual(failures, ['a +1000', 'a +2000', 'a +4000', 'a +8000', 'a +8000']);
  failures.length = 4;
  queue.add('a');
  await clock.advance(60_000);
  assert.deepEqual(failures.at(-1), 'a +1000');
});

test('many that fail together do not come back together: up to half of a delay is left out at random', async () => {
  const clock = manualClock(0);
  const delays: number[] = [];
  const random = [0, 0.5, 1];
  const queue = new KeyedQueue(
    {
      workers: 3,
      maxWorkersPerTenant: 3,
      tenantOf: () => '',
      debounceMs: 0,
      maxDebounceMs: 0,
      retry: { baseMs: 1000, maxMs: 8000 },
    },
    {
      clock,
      random: () => random.shift() ?? 1,
      onFailure: (_, __, delayMs) => delays.push(delayMs),
      onTaken: () => {},
    },
  );
  void queue.run(() => Promise.reject(new Error('no')), new AbortController().signal);
  ['a', 'b', 'c'].forEach((key) => queue.add(key));
  await clock.advance(0);
  assert.deepEqual(delays, [500, 750, 1000]);
});

test('keys that keep failing hold up no other: while they wait, no worker does', async () => {
  const { clock, queue, taken, waits } = startQueue((key) =>
    key.startsWith('bad') ? Promise.reject(new Error('no')) : Promise.resolve({}),
  );
  ['bad-1', 'bad-2', 'bad-3'].forEach((key) => queue.add(key));
  await clock.advance(20_000);
  queue.add('good');
  await clock.advance(500);
  assert.equal(taken.at(-1), 'good@20500');
  assert.ok(waits.every((waitedMs) => waitedMs === 0));
});

test('the backlog is what is due and finds no worker, and how long that was is observed', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, waits } = startQueue(() => gate.promise);
  ['a', 'b', 'c'].forEach((key) => queue.add(key));
  assert.equal(queue.backlog, 0);
  await clock.advance(2500);
  assert.equal(queue.backlog, 1);
  gate.resolve({});
  await clock.advance(0);
  assert.deepEqual([queue.backlog, waits], [0, [0, 0, 2000]]);
});

test('where no worker runs there is no backlog, and the wait counts from when one does', async () => {
  const { clock, queue, waits, stop, ended } = startQueue();
  stop();
  await ended;
  queue.add('a');
  await clock.advance(10_000);
  assert.equal(queue.backlog, 0);
  void queue.run(() => Promise.resolve({}), new AbortController().signal);
  await clock.advance(0);
  assert.deepEqual(waits, [0]);
});

test('a delay that the other side asked for is kept', async () => {
  const busy = Object.assign(new Error('busy'), { retryAfterMs: 7000 });
  const { clock, queue, taken } = startQueue(() => (taken.length === 1 ? Promise.reject(busy) : Promise.resolve({})));
  queue.add('a');
  await clock.advance(10_000);
  assert.deepEqual(taken, ['a@500', 'a@7500']);
});

test('work may ask to be repeated', async () => {
  const { clock, queue, taken } = startQueue(() =>
    Promise.resolve(taken.length === 1 ? { requeueAfterMs: 60_000 } : {}),
  );
  queue.add('a');
  await clock.advance(60_500);
  assert.deepEqual(taken, ['a@500', 'a@60500']);
  assert.equal(queue.size, 0);
});

test('keys wait for a worker before it starts and after it stops, and none is lost', async () => {
  const { clock, queue, taken, stop, ended } = startQueue();
  stop();
  await ended;
  queue.add('a');
  await clock.advance(10_000);
  assert.deepEqual(taken, []);
  const again: string[] = [];
  void queue.run((key) => {
    again.push(key);
    return Promise.resolve({});
  }, new AbortController().signal);
  await clock.advance(0);
  assert.deepEqual(again, ['a']);
});

test('a stop waits for the work in flight', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, stop, ended } = startQueue(() => gate.promise);
  queue.add('a');
  await clock.advance(500);
  stop();
  const first = await Promise.race([ended.then(() => 'ended'), clock.advance(0).then(() => 'still working')]);
  assert.equal(first, 'still working');
  gate.resolve({});
  await ended;
});

test('work in flight at a stop goes on with its own signal until that is aborted, and nothing more is taken up', async () => {
  const { clock, queue, stop, ended } = startQueue();
  stop();
  await ended;
  const [ending, over] = [new AbortController(), new AbortController()];
  const seen: string[] = [];
  const running = queue.run(
    async (key, signal) => {
      seen.push(key);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      signal.throwIfAborted();
      return {};
    },
    ending.signal,
    over.signal,
  );
  queue.add('a');
  await clock.advance(500);
  ending.abort();
  queue.add('b');
  await clock.advance(4000);
  assert.equal(await Promise.race([running.then(() => 'ended'), clock.advance(0).then(() => 'working')]), 'working');
  over.abort();
  await running;
  assert.deepEqual(seen, ['a']);
});

test('what is cleared waits for nothing any more', async () => {
  const { clock, queue, taken } = startQueue();
  queue.add('a');
  queue.add('b');
  queue.clear();
  await clock.advance(120_000);
  assert.deepEqual(taken, []);
  assert.equal(queue.size, 0);
});
