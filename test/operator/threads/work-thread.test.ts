import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { TooCostlyError, WorkThread } from '../../../operator/threads/work-thread.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';

const entry = new URL('odd-tasks.ts', import.meta.url);
/** Whose the work is, where that does not matter. */
const team = 'team-a';

describe('a thread for work whose cost a tenant decides', () => {
  let thread: WorkThread;
  beforeEach(() => {
    thread = new WorkThread({ entry, limitMs: 1_500, heapMiB: 32 }, steadyClock);
  });
  afterEach(() => thread.stop());

  test('answers in the order it is asked, with a copy of what the task makes', async () => {
    const input = { a: new Map([['b', Object.freeze(['c'])]]) };
    const answers = await Promise.all([
      thread.run('echo', 1, team),
      thread.run('echo', input, team),
      thread.run('echo', undefined, team),
    ]);
    assert.deepEqual(answers, [1, input, undefined]);
    assert.notEqual(answers[1], input);
  });

  test('rejects with what a task throws, and with what cannot be copied, and goes on', async () => {
    await assert.rejects(thread.run('throw', 'no', team), { message: 'no' });
    await assert.rejects(
      thread.run('echo', () => {}, team),
      { name: 'DataCloneError' },
    );
    assert.equal(await thread.run('echo', 2, team), 2);
  });

  for (const task of ['spin', 'hog'])
    test(`gives a task up that does not end (${task}), and works on in a new thread`, async () => {
      const waiting = thread.run(task, undefined, team);
      const next = thread.run('echo', 3, team);
      await assert.rejects(waiting, TooCostlyError);
      assert.equal(await next, 3);
    });

  test('takes a thread that has gone for one that failed', async () => {
    await assert.rejects(thread.run('leave', undefined, team), /ended/);
    assert.equal(await thread.run('echo', 4, team), 4);
  });

  test('blames no task for memory that others have left behind', async () => {
    const tasks = Array.from({ length: 40 }, () => thread.run('keep', 2_000_000, team));
    const kept = (await Promise.all(tasks)) as readonly number[];
    assert.ok(
      kept.some((each, index) => each < (kept[index - 1] ?? 0)),
      `no thread was full: ${kept.join()}`,
    );
  });

  test('sends bytes again where others have left too little memory to work on them', async () => {
    const tasks = Array.from({ length: 40 }, () => thread.run('keepFor', Buffer.alloc(200_000), team));
    assert.deepEqual(new Set(await Promise.all(tasks)), new Set([200_000]));
  });

  test('lets tenants take turns, however much work one of them has', async () => {
    const done: string[] = [];
    const all = ['a', 'a', 'a', 'a', 'b'].map((tenant) =>
      thread.run('echo', tenant, tenant).then((echo) => done.push(String(echo))),
    );
    await Promise.all(all);
    assert.equal(done.join(''), 'aabaa');
  });

  test('does not begin a task that was aborted, and keeps no caller waiting that has given up', async () => {
    const gone = new AbortController();
    const done: string[] = [];
    const tell = (what: string) => () => void done.push(what);
    const underWay = assert.rejects(thread.run('spin', undefined, team, gone.signal), /gone/).then(tell('given up'));
    const waiting = assert.rejects(thread.run('count', undefined, team, gone.signal), /gone/).then(tell('given up'));
    const next = thread.run('count', undefined, team);
    void next.then(tell('next'));
    gone.abort(new Error('gone'));
    await Promise.all([underWay, waiting]);
    assert.deepEqual(done, ['given up', 'given up']);
    assert.equal(await next, 1);
    await assert.rejects(thread.run('count', undefined, team, gone.signal), /gone/);
    assert.equal(await thread.run('count', undefined, team), 2);
  });

  test('answers nothing once it is stopped', async () => {
    const waiting = thread.run('spin', undefined, team);
    const stopped = assert.rejects(waiting, /stopped/);
    await thread.stop();
    await stopped;
    await assert.rejects(thread.run('echo', 5, team), /stopped/);
  });
});

test('an answer that is there counts, although this thread was too busy to take it in time', async () => {
  const thread = new WorkThread({ entry, limitMs: 2_000, heapMiB: 32 }, steadyClock);
  await thread.run('echo', 1, team);
  // Timers come before messages from here on.
  await new Promise((resolve) => setImmediate(resolve));
  const answer = thread.run('echo', 2, team);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
  assert.equal(await answer, 2);
  await thread.stop();
});

test('what a thread loads before it begins is no part of the work', async () => {
  const thread = new WorkThread({ entry, limitMs: 500, heapMiB: 32 }, steadyClock);
  assert.equal(await thread.run('loadFirst', 1_000, team), undefined);
  await assert.rejects(thread.run('spin', undefined, team), TooCostlyError);
  await thread.stop();
});

test('time that the work does not get on a busy machine counts up to a bound', async () => {
  const thread = new WorkThread({ entry, limitMs: 300, heapMiB: 32 }, steadyClock);
  assert.equal(await thread.run('wait', 600, team), 'timed-out');
  await assert.rejects(thread.run('wait', 60_000, team), TooCostlyError);
  await thread.stop();
});

test('a thread without work ends after a while, and begins anew when there is some', async () => {
  const thread = new WorkThread({ entry, limitMs: 5_000, heapMiB: 32, idleMs: 10 }, steadyClock);
  for (const input of [1, 2]) {
    assert.equal(await thread.run('echo', input, team), input);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await thread.stop();
});
