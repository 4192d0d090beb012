import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedQueue } from '../../../operator/engine/queue.ts';
import type { QueueOptions, WorkResult } from '../../../operator/engine/queue.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

interface Bench {
  readonly clock: ManualClock;
  readonly queue: KeyedQueue;
  /** Keys in the order they were taken up, with the time since the start. */
  readonly taken: string[];
  readonly failures: string[];
  /** How long each waited for a worker. */
  readonly waits: number[];
  readonly ended: Promise<void>;
  readonly stop: () => void;
}

const startQueue = (
  work: (key: string, isHasty: boolean) => Promise<WorkResult> = () => Promise.resolve({}),
  options: Partial<QueueOptions> = {},
): Bench => {
  const clock = manualClock(0);
  const taken: string[] = [];
  const failures: string[] = [];
  const waits: number[] = [];
  const queue = new KeyedQueue(
    {
      workers: 2,
      workersOfOne: 2,
      tenantOf: (key) => key.split('/')[0] ?? '',
      quietMs: 500,
      quietAtMostMs: 3000,
      retry: { baseMs: 1000, maxMs: 8000 },
      ...options,
    },
    {
      clock,
      random: () => 1,
      onFailure: (key, _, delayMs) => failures.push(`${key} +${delayMs}`),
      onTaken: (ms) => waits.push(ms),
    },
  );
  const stopping = new AbortController();
  const ended = queue.run((key, _signal, isHasty) => {
    taken.push(`${key}@${clock.now()}`);
    return work(key, isHasty);
  }, stopping.signal);
  return { clock, queue, taken, failures, waits, ended, stop: () => stopping.abort() };
};

test('a key waits until it has been quiet, however often it is touched', async () => {
  const { clock, queue, taken } = startQueue();
  queue.touch('a');
  await clock.advance(400);
  queue.touch('a');
  await clock.advance(499);
  assert.deepEqual(taken, []);
  await clock.advance(1);
  assert.deepEqual(taken, ['a@900']);
});

test('a key that never becomes quiet is taken up after the longest wait', async () => {
  const { clock, queue, taken } = startQueue();
  for (let ms = 0; ms < 3500; ms += 250) {
    queue.touch('a');
    await clock.advance(250);
  }
  assert.equal(taken[0], 'a@3000');
});

test('a key touched while it is worked on is worked on once more, and never by two workers', async () => {
  const first = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => (taken.length === 1 ? first.promise : Promise.resolve({})));
  queue.touch('a');
  await clock.advance(500);
  queue.touch('a');
  await clock.advance(5000);
  assert.deepEqual(taken, ['a@500']);
  first.resolve({});
  await clock.advance(0);
  assert.deepEqual(taken, ['a@500', 'a@5500']);
});

test('no more keys are worked on at once than there are workers', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => gate.promise);
  ['a', 'b', 'c'].forEach((key) => queue.touch(key));
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
  queue.touch('a');
  await clock.advance(60_000);
  assert.deepEqual(failures, ['a +1000', 'a +2000', 'a +4000', 'a +8000', 'a +8000']);
  failures.length = 4;
  queue.touch('a');
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
      workersOfOne: 3,
      tenantOf: () => '',
      quietMs: 0,
      quietAtMostMs: 0,
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
  ['a', 'b', 'c'].forEach((key) => queue.touch(key));
  await clock.advance(0);
  assert.deepEqual(delays, [500, 750, 1000]);
});

test('keys that keep failing hold up no other: while they wait, no worker does', async () => {
  const { clock, queue, taken, waits } = startQueue((key) =>
    key.startsWith('bad') ? Promise.reject(new Error('no')) : Promise.resolve({}),
  );
  ['bad-1', 'bad-2', 'bad-3'].forEach((key) => queue.touch(key));
  await clock.advance(20_000);
  queue.touch('good');
  await clock.advance(500);
  assert.equal(taken.at(-1), 'good@20500');
  assert.ok(waits.every((waitedMs) => waitedMs === 0));
});

test('the backlog is what is due and finds no worker, and how long that was is told', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, waits } = startQueue(() => gate.promise);
  ['a', 'b', 'c'].forEach((key) => queue.touch(key));
  assert.equal(queue.backlog, 0);
  await clock.advance(2500);
  assert.equal(queue.backlog, 1);
  gate.resolve({});
  await clock.advance(0);
  assert.deepEqual([queue.backlog, waits], [0, [0, 0, 2000]]);
});

test('where nobody works there is no backlog, and the wait counts from when somebody does', async () => {
  const { clock, queue, waits, stop, ended } = startQueue();
  stop();
  await ended;
  queue.touch('a');
  await clock.advance(10_000);
  assert.equal(queue.backlog, 0);
  void queue.run(() => Promise.resolve({}), new AbortController().signal);
  await clock.advance(0);
  assert.deepEqual(waits, [0]);
});

test('a delay that the other side asked for is kept', async () => {
  const busy = Object.assign(new Error('busy'), { retryAfterMs: 7000 });
  const { clock, queue, taken } = startQueue(() => (taken.length === 1 ? Promise.reject(busy) : Promise.resolve({})));
  queue.touch('a');
  await clock.advance(10_000);
  assert.deepEqual(taken, ['a@500', 'a@7500']);
});

test('work may ask to be repeated', async () => {
  const { clock, queue, taken } = startQueue(() => Promise.resolve(taken.length === 1 ? { againAfterMs: 60_000 } : {}));
  queue.touch('a');
  await clock.advance(60_500);
  assert.deepEqual(taken, ['a@500', 'a@60500']);
  assert.equal(queue.size, 0);
});

test('keys wait for a worker before it starts and after it stops, and none is lost', async () => {
  const { clock, queue, taken, stop, ended } = startQueue();
  stop();
  await ended;
  queue.touch('a');
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
  queue.touch('a');
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
  queue.touch('a');
  await clock.advance(500);
  ending.abort();
  queue.touch('b');
  await clock.advance(4000);
  assert.equal(await Promise.race([running.then(() => 'ended'), clock.advance(0).then(() => 'working')]), 'working');
  over.abort();
  await running;
  assert.deepEqual(seen, ['a']);
});

test('what is cleared waits for nothing any more', async () => {
  const { clock, queue, taken } = startQueue();
  queue.touch('a');
  queue.touch('b');
  queue.clear();
  await clock.advance(120_000);
  assert.deepEqual(taken, []);
  assert.equal(queue.size, 0);
});

test('tenants have their turn one after another, however many keys of one are due', async () => {
  const gates: PromiseWithResolvers<WorkResult>[] = [];
  const { clock, queue, taken } = startQueue(
    () => {
      const gate = Promise.withResolvers<WorkResult>();
      gates.push(gate);
      return gate.promise;
    },
    { workers: 1, workersOfOne: 1 },
  );
  ['a/1', 'a/2', 'a/3', 'a/4', 'b/1', 'b/2', 'c/1'].forEach((key) => queue.touch(key));
  await clock.advance(500);
  for (let done = 0; done < 7; done += 1) {
    gates[done]?.resolve({});
    await clock.advance(0);
  }
  assert.deepEqual(
    taken.map((key) => key.split('@')[0]),
    // The first was taken before anything else was due.
    ['a/1', 'a/2', 'b/1', 'c/1', 'a/3', 'b/2', 'a/4'],
  );
});

test('one tenant never has all workers: what waits for answers that do not come holds up no other', async () => {
  const never = new Promise<WorkResult>(() => {});
  const { clock, queue, taken } = startQueue((key) => (key.startsWith('stuck') ? never : Promise.resolve({})), {
    workers: 4,
    workersOfOne: 3,
  });
  ['stuck/1', 'stuck/2', 'stuck/3', 'stuck/4', 'stuck/5'].forEach((key) => queue.touch(key));
  await clock.advance(500);
  assert.equal(taken.length, 3);
  queue.touch('other/1');
  await clock.advance(500);
  assert.equal(taken.at(-1), 'other/1@1000');
});

test('a key that is new is taken up at once where nobody waits, and once more when it has been quiet', async () => {
  const hasty: boolean[] = [];
  const { clock, queue, taken } = startQueue((_key, isHasty) => {
    hasty.push(isHasty);
    return Promise.resolve({});
  });
  await clock.advance(0);
  queue.touchNew('a/1');
  queue.touch('a/1');
  await clock.advance(500);
  assert.deepEqual(
    [taken, hasty],
    [
      ['a/1@0', 'a/1@500'],
      [true, false],
    ],
  );
});

test('a key that is new waits like any other while there are others', async () => {
  const gate = Promise.withResolvers<WorkResult>();
  const { clock, queue, taken } = startQueue(() => gate.promise, { workers: 1, workersOfOne: 1 });
  queue.touch('a/1');
  await clock.advance(500);
  queue.touchNew('b/1');
  gate.resolve({});
  await clock.advance(499);
  assert.deepEqual(taken, ['a/1@500']);
  await clock.advance(1);
  assert.deepEqual(taken, ['a/1@500', 'b/1@1000']);
});
