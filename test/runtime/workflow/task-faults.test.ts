import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { STOP_TIMES } from '../../../runtime/process/graceful-stop.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import type { CallThere } from '../../fixtures/asking-backend.ts';
import { requestsOf, TASK_AFTER, taskReplicas, type TaskReplicas, textOf } from '../../fixtures/task-replicas.ts';

const MINUTE = 60_000;
const BEAT = 15_000;
const YES = { action: 'accept', content: {} };

const unavailable = (): Promise<never> => Promise.reject(new VmcpError('store_unavailable', 'no'));

/** Waits for what other parts of the process do meanwhile. */
const once = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await turn();
};

describe('a task of a workflow', () => {
  let all: TaskReplicas;
  beforeEach(async () => {
    all = await taskReplicas();
  });
  afterEach(() => all.close());

  test('is one of 32 of a user at most, however many calls could become tasks at the same time', async () => {
    const { replica, send, b, clock } = all;
    const running = await replica();
    const answers = Array.from({ length: 33 }, () => send(running, { tool: 'slow', args: { of: 'x' } }));
    const there = await Promise.all(answers.map(() => b.next()));
    clock.advance(TASK_AFTER);
    let tasks = 0;
    const counted = answers.map(async (answer) => {
      const { resultType } = resultOf(await answer);
      if (resultType === 'task') tasks += 1;
      if (tasks === 32) for (const call of there) call.finish('done');
      return resultType;
    });
    const types = await Promise.all(counted);
    assert.equal(types.filter((type) => type === 'task').length, 32);
  });

  test('is cancelled where it runs once its record has been displaced', async () => {
    const { replica, begin, beginSlow, send, b, clock } = all;
    const running = await replica();
    const { id, there } = await beginSlow(running);
    for (let others = 0; others < 64; others += 1) await begin(running, 'ask');
    assert.equal(errorOf(await send(running, { method: 'tasks/get', task: id })).code, -32_602);
    clock.advance(BEAT);
    await b.cancelled(there);
  });

  test('keeps its outcome once the store is back, however long that takes', async () => {
    const { replica, beginSlow, settled, clock, store } = all;
    let [tries, isDown] = [0, true];
    const replaceField: Store['replaceField'] = (...how) => {
      tries += 1;
      return isDown ? unavailable() : store.replaceField(...how);
    };
    const [first, second] = [await replica(undefined, { ...store, replaceField }), await replica()];
    const { id, there } = await beginSlow(first);
    there.finish('done');
    await once(() => tries > 0);
    for (let enough = false; !enough; enough = tries >= 9) {
      clock.advance(BEAT);
      await turn();
    }
    isDown = false;
    clock.advance(BEAT);
    assert.equal(textOf(await settled(second, id)), 'two {"of":"last"}');
  });

  test('whose process has lost it has ended: at once there, after its time elsewhere', async () => {
    const { replica, begin, update, get, clock, store } = all;
    // What is written, though no answer says so, and none can be read then.
    let isLost = false;
    const replaceField: Store['replaceField'] = async (...how) => {
      await store.replaceField(...how);
      isLost = true;
      return unavailable();
    };
    const readMap: Store['readMap'] = (...how) => {
      const isReadable = !isLost;
      isLost = false;
      return isReadable ? store.readMap(...how) : unavailable();
    };
    const [first, second] = [await replica(undefined, { ...store, replaceField, readMap }), await replica()];
    const [seen, unseen] = [await begin(first, 'ask'), await begin(first, 'ask')];
    for (const id of [seen, unseen]) assert.equal(errorOf(await update(first, id, { 'ask.1': YES })).code, 503);
    await get(first, seen).catch(() => undefined);
    assert.match(textOf(await get(second, seen)), /what has become of it could not be kept/);
    assert.equal((await get(second, unseen))['status'], 'working');
    clock.advance(22 * MINUTE);
    assert.match(textOf(await get(second, unseen)), /what has become of it could not be kept/);
  });

  test('goes on although the store did what it was asked and its answer was lost', async () => {
    const { replica, begin, update, settled, calls, store } = all;
    const replaceField: Store['replaceField'] = async (...how) => {
      await store.replaceField(...how);
      return unavailable();
    };
    const running = await replica(undefined, { ...store, replaceField });
    const id = await begin(running, 'ask');
    assert.equal(resultOf(await update(running, id, { 'ask.1': YES }))['resultType'], 'complete');
    await update(running, id, { [Object.keys(requestsOf(await settled(running, id)))[0] ?? '']: YES });
    assert.equal(textOf(await settled(running, id)), 'two {"of":"accept"}');
    assert.equal(calls(), 2);
  });

  test('is cancelled although it goes on at the same moment', async () => {
    const { replica, begin, update, cancel, get, b, store } = all;
    let before = async (): Promise<void> => {};
    const replaceField: Store['replaceField'] = async (...how) => {
      await before();
      return store.replaceField(...how);
    };
    const [first, second] = [await replica(), await replica(undefined, { ...store, replaceField })];
    const id = await begin(first, 'next');
    const begun = Promise.withResolvers<CallThere>();
    before = async () => {
      before = async () => {};
      await update(first, id, { 'x.1': YES });
      begun.resolve(await b.next());
    };
    assert.equal(resultOf(await cancel(second, id))['resultType'], 'complete');
    assert.equal((await get(first, id))['status'], 'cancelled');
    await b.cancelled(await begun.promise);
  });

  test('takes an answer that comes while its steps run, once they have ended', async () => {
    const { replica, begin, update, settled, b, clock, calls } = all;
    const [first, second] = [await replica(), await replica()];
    const id = await begin(first, 'next');
    await update(first, id, { 'x.1': YES });
    const there = await b.next();
    const late = update(second, id, { 'y.2': YES });
    await once(() => clock.pending().includes(250));
    there.finish('done');
    assert.deepEqual(requestsOf(await settled(first, id)), { 'y.2': 'Y?' });
    clock.advance(250);
    assert.equal(resultOf(await late)['resultType'], 'complete');
    assert.equal(textOf(await settled(first, id)), 'two {"of":"accept"}');
    assert.equal(calls(), 1);
  });

  test('refuses an answer that would have to wait long for its steps, so that the client repeats it', async () => {
    const { replica, begin, update, settled, b, clock } = all;
    const running = await replica();
    const id = await begin(running, 'next');
    await update(running, id, { 'x.1': YES });
    const there = await b.next();
    const late = update(running, id, { 'y.2': YES });
    await once(() => clock.pending().includes(250));
    clock.advance(5_000);
    assert.equal(errorOf(await late).code, 429);
    assert.equal(resultOf(await update(running, id, { 'x.1': YES }))['resultType'], 'complete');
    there.finish('done');
    await settled(running, id);
    await update(running, id, { 'y.2': YES });
    assert.equal(textOf(await settled(running, id)), 'two {"of":"accept"}');
  });

  test('ends where it runs before others take its process for dead, which the store no longer hears', async () => {
    const { replica, beginSlow, settled, b, clock, store } = all;
    let isDown = false;
    const set: Store['set'] = (key, ...rest) =>
      isDown && key.includes('owner:') ? unavailable() : store.set(key, ...rest);
    const [first, second] = [await replica(undefined, { ...store, set }), await replica()];
    const { id, there } = await beginSlow(first);
    isDown = true;
    clock.advance(2 * BEAT);
    assert.equal(b.isCancelled(there), false);
    clock.advance(BEAT);
    await b.cancelled(there);
    assert.match(textOf(await settled(second, id)), /the server that ran the workflow was cut off/);
  });

  for (const [what, finishes] of [
    ['has the time of a stop that calls have', true],
    ['has ended where it needs more', false],
  ] as const)
    test(what, async () => {
      const { replica, beginSlow, end, settled, b, clock } = all;
      const [first, second] = [await replica(undefined, undefined, { stopTimes: STOP_TIMES }), await replica()];
      const { id, there } = await beginSlow(first);
      const stopped = end(first);
      clock.advance(5_000);
      await turn();
      clock.advance(34_999);
      await turn();
      assert.equal(b.isCancelled(there), false);
      if (finishes) there.finish('done');
      else clock.advance(1);
      assert.match(textOf(await settled(second, id)), finishes ? /two/ : /the server is stopping/);
      await stopped;
    });

  test('is none where its process would get no messages', async () => {
    const { replica, send, b, clock, store } = all;
    const subscribe: Store['subscribe'] = (channel, listener) => {
      const { end, isLive } = store.subscribe(channel, listener);
      return { end, isLive: channel.includes('owner:') ? new Promise(() => {}) : isLive };
    };
    const running = await replica(undefined, { ...store, subscribe });
    const answer = send(running, { tool: 'slow', args: { of: 'x' } });
    const there = await b.next();
    clock.advance(TASK_AFTER);
    await once(() => clock.pending().includes(2_000));
    clock.advance(2_000);
    there.finish('done');
    assert.equal(resultText(await answer), 'two {"of":"last"}');
  });

  test('takes answers as an object alone, and whatever its state says so', async () => {
    const { replica, begin, send, cancel } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    const updates = [{}, { answers: ['ask.1'] }].map((of) => ({ method: 'tasks/update', task: id, ...of }));
    for (const sent of updates) assert.equal(errorOf(await send(running, sent)).code, -32_602);
    await cancel(running, id);
    for (const sent of updates) assert.equal(errorOf(await send(running, sent)).code, -32_602);
  });

  test('that is cancelled, or runs out, while it waits is no execution that waits', async () => {
    const { replica, begin, cancel, get, clock } = all;
    const running = await replica();
    const states = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${running.managementUrl}/workflows`);
      const { executions } = (await answer.json()) as {
        executions: readonly { state: string; error?: string; steps: readonly { state: string }[] }[];
      };
      return executions.map(({ state, error, steps }) => `${state} ${error} ${steps.at(-1)?.state}`);
    };
    await cancel(running, await begin(running, 'ask'));
    const late = await begin(running, 'ask');
    clock.advance(20 * MINUTE);
    await get(running, late);
    assert.deepEqual(await states(), ['failed workflow_failed cancelled', 'failed cancelled cancelled']);
  });
});
