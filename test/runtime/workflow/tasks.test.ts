import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Store } from '../../../runtime/store/index.ts';
import { errorOf, resultOf } from '../../fixtures/answers.ts';
import {
  EVERYTHING,
  requestsOf,
  TASK_AFTER,
  taskReplicas,
  type TaskReplicas,
  textOf,
  WORKFLOWS,
} from '../../fixtures/task-replicas.ts';

const MINUTE = 60_000;

const YES = { action: 'accept', content: {} };
const NO = { action: 'decline' };

describe('a workflow as a task (2026-07-28)', () => {
  let all: TaskReplicas;
  beforeEach(async () => {
    all = await taskReplicas();
  });
  afterEach(() => all.close());

  test('is a task once it has run for 10 s, and gives its result later', async () => {
    const { replica, beginSlow, get, settled, calls } = all;
    const running = await replica();
    const { id, there } = await beginSlow(running);
    const working = await get(running, id);
    assert.deepEqual(working, {
      ...working,
      resultType: 'complete',
      taskId: id,
      status: 'working',
      ttlMs: 20 * MINUTE - TASK_AFTER + 10 * MINUTE,
      pollIntervalMs: 1_000,
    });
    there.finish('done');
    const got = await settled(running, id);
    assert.deepEqual([got['status'], textOf(got)], ['completed', 'two {"of":"last"}']);
    assert.equal(calls(), 2);
  });

  test('asks through the task, under a key for each question, and goes on with the answers at any replica', async () => {
    const { replica, begin, end, get, update, settled, calls } = all;
    const first = await replica();
    const id = await begin(first, 'ask');
    assert.deepEqual(requestsOf(await get(first, id)), { 'ask.1': 'Go on with x?' });
    await end(first);
    const second = await replica();
    assert.deepEqual(requestsOf(await get(second, id)), { 'ask.1': 'Go on with x?' });
    assert.equal(resultOf(await update(second, id, { 'ask.1': YES }))['resultType'], 'complete');
    assert.deepEqual(requestsOf(await settled(second, id)), { 'sure.2': 'Sure?' });
    await update(second, id, { 'sure.2': YES });
    const got = await settled(second, id);
    assert.deepEqual([got['status'], textOf(got)], ['completed', 'two {"of":"accept"}']);
    assert.equal(calls(), 2);
  });

  test('waits on for the answers that are missing, under the same keys', async () => {
    const { replica, begin, get, update, settled } = all;
    const running = await replica();
    const id = await begin(running, 'both');
    assert.deepEqual(requestsOf(await get(running, id)), { 'x.1': 'X?', 'y.2': 'Y?' });
    await update(running, id, { 'y.2': YES });
    assert.deepEqual(requestsOf(await settled(running, id)), { 'x.1': 'X?' });
    await update(running, id, { 'x.1': YES });
    assert.equal(textOf(await settled(running, id)), 'two {"of":"accept accept"}');
  });

  test('ignores answers to what it has not asked, and those that come twice', async () => {
    const { replica, begin, get, update, settled, calls } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    for (const answers of [{}, { ask: YES }, { 'ask.2': YES }])
      assert.equal(resultOf(await update(running, id, answers))['resultType'], 'complete');
    assert.equal((await get(running, id))['status'], 'input_required');
    const twice = await Promise.all([1, 2].map(() => update(running, id, { 'ask.1': YES })));
    for (const answer of twice) assert.equal(resultOf(answer)['resultType'], 'complete');
    assert.deepEqual(requestsOf(await settled(running, id)), { 'sure.2': 'Sure?' });
    assert.equal(calls(), 1);
  });

  test('that fails by the word of its user has a result that says so', async () => {
    const { replica, begin, update, settled } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    await update(running, id, { 'ask.1': NO });
    const got = await settled(running, id);
    assert.equal(got['status'], 'completed');
    assert.equal((got['result'] as { isError?: boolean }).isError, true);
    assert.match(textOf(got), /step "ask" failed/);
  });

  test('is cancelled where it runs, by any replica, and calls nothing more', async () => {
    const { replica, beginSlow, get, send, calls, b } = all;
    const [first, second] = [await replica(), await replica()];
    const { id, there } = await beginSlow(first);
    assert.equal(resultOf(await send(second, { method: 'tasks/cancel', task: id }))['resultType'], 'complete');
    await b.cancelled(there);
    for (const each of [first, second]) assert.equal((await get(each, id))['status'], 'cancelled');
    assert.equal(calls(), 1);
  });

  test('is cancelled while it waits, and does not go on', async () => {
    const { replica, begin, get, update, send, calls } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    await send(running, { method: 'tasks/cancel', task: id });
    await update(running, id, { 'ask.1': YES });
    assert.equal((await get(running, id))['status'], 'cancelled');
    assert.equal(calls(), 1);
  });

  test('is shown by other replicas while it runs', async () => {
    const { replica, beginSlow, get, settled } = all;
    const [first, second] = [await replica(), await replica()];
    const { id, there } = await beginSlow(first);
    assert.equal((await get(second, id))['status'], 'working');
    there.finish('done');
    assert.equal(textOf(await settled(second, id)), 'two {"of":"last"}');
  });

  test('of a replica that is gone has ended, and is not begun again', async () => {
    const { b, replica, beginSlow, get, files, calls, store } = all;
    // As of a process that was killed, nothing is heard of it.
    const silent: Store = {
      ...store,
      set: async (key, ...rest) => (key.includes('owner:') ? undefined : store.set(key, ...rest)),
    };
    const [first, second, third] = [await replica(files(), silent), await replica(), await replica()];
    const { id, there } = await beginSlow(first);
    const got = await get(third, id);
    assert.match(textOf(got), /the process that ran it has ended; what its steps have done is not undone/);
    assert.deepEqual(await get(second, id), got);
    // Should it be alive all the same, it is told.
    await b.cancelled(there);
    assert.equal(calls(), 1);
  });

  test('of another user, and one of nobody, are answered alike', async () => {
    const { replica, begin, get, send } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    const none = `${id.slice(0, 9)}${'A'.repeat(32)}${id.slice(41)}`;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const [theirs, nobodys] = await Promise.all(
        [id, none].map(async (task) =>
          errorOf(await send(running, { method, task, answers: { 'ask.1': YES } }, 'bob')),
        ),
      );
      assert.equal(theirs?.code, -32_602);
      assert.deepEqual([theirs?.code, theirs?.message], [nobodys?.code, nobodys?.message]);
    }
    assert.equal((await get(running, id))['status'], 'input_required');
  });

  test('is refused once policies forbid the workflow', async () => {
    const { replica, begin, update, send, files, calls } = all;
    const first = await replica();
    const id = await begin(first, 'ask');
    const strict = await replica(files('permit(principal, action, resource) unless { resource == Tool::"ask" };'));
    assert.equal(errorOf(await send(strict, { method: 'tasks/get', task: id })).code, 403);
    assert.equal(errorOf(await update(strict, id, { 'ask.1': YES })).code, 403);
    assert.equal(calls(), 1);
  });

  test('goes on with answers of users alone who may call each tool that it uses', async () => {
    const { replica, begin, get, update, settled, files, calls } = all;
    const lax = await replica();
    const id = await begin(lax, 'ask');
    const strict = await replica(files('permit(principal, action, resource) unless { resource == Tool::"a_two" };'));
    assert.equal(errorOf(await update(strict, id, { 'ask.1': YES })).code, 403);
    assert.equal((await get(strict, id))['status'], 'input_required');
    await update(lax, id, { 'ask.1': YES });
    assert.deepEqual(requestsOf(await settled(lax, id)), { 'sure.2': 'Sure?' });
    assert.equal(calls(), 1);
  });

  test('has ended with its time', async () => {
    const { replica, begin, get, update, send, calls, clock } = all;
    const running = await replica();
    const id = await begin(running, 'ask');
    clock.advance(20 * MINUTE);
    await update(running, id, { 'ask.1': YES });
    assert.match(textOf(await get(running, id)), /it took longer than 20m/);
    clock.advance(10 * MINUTE);
    assert.equal(errorOf(await send(running, { method: 'tasks/get', task: id })).code, -32_602);
    assert.equal(calls(), 1);
  });

  test('goes on at replicas that have its workflow as it was, while a change is rolled out', async () => {
    const { replica, begin, get, update, settled, files } = all;
    const newer = WORKFLOWS.map((each) => (each.name === 'both' ? { ...each, timeout: '9m' } : each));
    const [before, changed] = [await replica(), await replica(files(EVERYTHING, newer))];
    const id = await begin(before, 'both');
    const asked = { 'x.1': 'X?', 'y.2': 'Y?' };
    assert.deepEqual(requestsOf(await get(changed, id)), asked);
    const refused = errorOf(await update(changed, id, { 'x.1': YES, 'y.2': YES }));
    assert.equal(refused.code, -32_602);
    assert.match(refused.message, /"both" has been changed since it began/);
    assert.deepEqual(requestsOf(await get(before, id)), asked);
    await update(before, id, { 'x.1': YES, 'y.2': YES });
    assert.equal(textOf(await settled(before, id)), 'two {"of":"accept accept"}');
  });

  test('is ended by the stop of its replica, which others are told', async () => {
    const { replica, beginSlow, end, settled, calls } = all;
    const [first, second] = [await replica(), await replica()];
    const { id } = await beginSlow(first);
    await end(first);
    const got = await settled(second, id);
    assert.match(textOf(got), /stop/);
    assert.equal(calls(), 1);
  });
});
