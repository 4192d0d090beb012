import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { errorOf, resultOf } from '../../fixtures/answers.ts';
import { type AskingBackend, startAskingBackend } from '../../fixtures/asking-backend.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { as, filesWithPolicies, policyFeatures } from '../../fixtures/policies.ts';
import type { RawAnswer } from '../../fixtures/raw-client.ts';
import { startRuntime } from '../../fixtures/runtime.ts';
import { sharedStore } from '../../fixtures/shared-sessions.ts';
import { type Sent, sendTask } from '../../fixtures/task-caller.ts';

const MINUTE = 60_000;
const TASK_AFTER = 10_000;
const EVERYTHING = 'permit(principal, action, resource);';

/** `slow` waits at `b`; `ask` asks twice; `both` asks two things at once. */
const WORKFLOWS = [
  {
    name: 'slow',
    timeout: '20m',
    steps: [
      { id: 'first', tool: 'a.one', arguments: { of: '{{.params.of}}' } },
      { id: 'mid', tool: 'b.echo', dependsOn: ['first'] },
      { id: 'last', tool: 'a.two', dependsOn: ['mid'], arguments: { of: 'last' } },
    ],
  },
  {
    name: 'ask',
    timeout: '20m',
    steps: [
      { id: 'first', tool: 'a.one', arguments: { of: '{{.params.of}}' } },
      { id: 'ask', type: 'elicitation', message: 'Go on with {{.params.of}}?', dependsOn: ['first'] },
      { id: 'sure', type: 'elicitation', message: 'Sure?', dependsOn: ['ask'] },
      { id: 'last', tool: 'a.two', dependsOn: ['sure'], arguments: { of: '{{.steps.sure.output.action}}' } },
    ],
  },
  {
    name: 'both',
    steps: [
      { id: 'x', type: 'elicitation', message: 'X?' },
      { id: 'y', type: 'elicitation', message: 'Y?' },
      {
        id: 'last',
        tool: 'a.two',
        arguments: { of: '{{.steps.x.output.action}} {{.steps.y.output.action}}' },
        dependsOn: ['x', 'y'],
      },
    ],
  },
];

const YES = { action: 'accept', content: {} };
const NO = { action: 'decline' };

describe('a workflow as a task (2026-07-28)', () => {
  let a: FixtureBackend;
  let b: AskingBackend;
  let clock: FrozenClock;
  let store: Store;
  const replicas: Running[] = [];

  const files = (policy = EVERYTHING, compositeTools: readonly object[] = WORKFLOWS) =>
    filesWithPolicies(
      { a: a.url, b: b.url },
      { type: 'cedar', policies: [policy] },
      {
        compositeTools: structuredClone(compositeTools),
      },
    );
  /** One more replica, which shares the store with the others. */
  const replica = async (more = files(), itsStore = store): Promise<Running> => {
    const shared = { ...itsStore, close: async () => {} };
    const running = await startRuntime(
      more,
      {},
      { clock, features: policyFeatures(), featureDeps: (deps) => ({ ...deps, store: shared }) },
    );
    replicas.push(running);
    return running;
  };
  const send = ({ url }: Running, sent: Sent, user = 'ada'): Promise<RawAnswer> =>
    sendTask(url, { ...sent, headers: as(user) });
  const begin = async (running: Running, tool: string): Promise<string> => {
    const answer = await send(running, { tool, args: { of: 'x' } });
    const { resultType, taskId } = resultOf(answer);
    assert.equal(resultType, 'task', answer.text);
    return String(taskId);
  };
  /** A task of `slow`, which is at its second step. */
  const beginSlow = async (running: Running) => {
    const answer = begin(running, 'slow');
    const there = await b.next();
    clock.advance(TASK_AFTER);
    return { id: await answer, there };
  };
  const get = async (running: Running, task: string, user = 'ada') =>
    resultOf(await send(running, { method: 'tasks/get', task }, user));
  const update = (running: Running, task: string, answers: object, user = 'ada') =>
    send(running, { method: 'tasks/update', task, answers }, user);
  /** Asks after a task until it is no longer working. */
  const settled = async (running: Running, task: string, user = 'ada') => {
    for (;;) {
      const got = await get(running, task, user);
      if (got['status'] !== 'working') return got;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const textOf = (got: Readonly<Record<string, unknown>>): string => {
    const { content } = got['result'] as { readonly content: readonly { readonly text: string }[] };
    return content[0]?.text ?? '';
  };
  const calls = (): number => count(a, 'tools/call');

  beforeEach(async () => {
    clock = frozenClock();
    store = sharedStore(clock);
    a = await startBackend({ tools: ['one', 'two'] });
    b = await startAskingBackend();
  });
  afterEach(async () => {
    b.drop();
    await Promise.all(replicas.splice(0).map((running) => running.stop()));
    await Promise.all([a.close(), b.close()]);
  });

  test('is a task once it has run for 10 s, and gives its result later', async () => {
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
    const first = await replica();
    const id = await begin(first, 'ask');
    assert.deepEqual(requestsOf(await get(first, id)), { 'ask.1': 'Go on with x?' });
    await first.stop();
    replicas.length = 0;
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
    const running = await replica();
    const id = await begin(running, 'both');
    assert.deepEqual(requestsOf(await get(running, id)), { 'x.1': 'X?', 'y.2': 'Y?' });
    await update(running, id, { 'y.2': YES });
    assert.deepEqual(requestsOf(await settled(running, id)), { 'x.1': 'X?' });
    await update(running, id, { 'x.1': YES });
    assert.equal(textOf(await settled(running, id)), 'two {"of":"accept accept"}');
  });

  test('ignores answers to what it has not asked, and those that come twice', async () => {
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
    const running = await replica();
    const id = await begin(running, 'ask');
    await update(running, id, { 'ask.1': NO });
    const got = await settled(running, id);
    assert.equal(got['status'], 'completed');
    assert.equal((got['result'] as { isError?: boolean }).isError, true);
    assert.match(textOf(got), /step "ask" failed/);
  });

  test('is cancelled where it runs, by any replica, and calls nothing more', async () => {
    const [first, second] = [await replica(), await replica()];
    const { id, there } = await beginSlow(first);
    assert.equal(resultOf(await send(second, { method: 'tasks/cancel', task: id }))['resultType'], 'complete');
    await b.cancelled(there);
    for (const each of [first, second]) assert.equal((await get(each, id))['status'], 'cancelled');
    assert.equal(calls(), 1);
  });

  test('is cancelled while it waits, and does not go on', async () => {
    const running = await replica();
    const id = await begin(running, 'ask');
    await send(running, { method: 'tasks/cancel', task: id });
    await update(running, id, { 'ask.1': YES });
    assert.equal((await get(running, id))['status'], 'cancelled');
    assert.equal(calls(), 1);
  });

  test('is shown by other replicas while it runs', async () => {
    const [first, second] = [await replica(), await replica()];
    const { id, there } = await beginSlow(first);
    assert.equal((await get(second, id))['status'], 'working');
    there.finish('done');
    assert.equal(textOf(await settled(second, id)), 'two {"of":"last"}');
  });

  test('of a replica that is gone has ended, and is not begun again', async () => {
    // As of a process that was killed, nothing is heard of it.
    const silent: Store = {
      ...store,
      set: async (key, ...rest) => (key.includes('owner:') ? undefined : store.set(key, ...rest)),
    };
    const [first, second, third] = [await replica(files(), silent), await replica(), await replica()];
    const { id } = await beginSlow(first);
    const got = await get(third, id);
    assert.match(textOf(got), /the process that ran it has ended; what its steps have done is not undone/);
    assert.deepEqual(await get(second, id), got);
    assert.equal(calls(), 1);
  });

  test('of another user, and one of nobody, are answered alike', async () => {
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
    const first = await replica();
    const id = await begin(first, 'ask');
    const strict = await replica(files('permit(principal, action, resource) unless { resource == Tool::"ask" };'));
    assert.equal(errorOf(await send(strict, { method: 'tasks/get', task: id })).code, 403);
    assert.equal(errorOf(await update(strict, id, { 'ask.1': YES })).code, 403);
    assert.equal(calls(), 1);
  });

  test('has ended with its time, and with a change of the workflow', async () => {
    const running = await replica();
    const [late, changed] = [await begin(running, 'ask'), await begin(running, 'both')];
    assert.deepEqual(
      running.reload(
        files(
          EVERYTHING,
          WORKFLOWS.map((each) => (each.name === 'both' ? { ...each, timeout: '9m' } : each)),
        ),
      ),
      { ok: true },
    );
    await update(running, changed, { 'x.1': YES, 'y.2': YES });
    assert.match(textOf(await get(running, changed)), /the workflow has been changed meanwhile/);
    clock.advance(20 * MINUTE);
    await update(running, late, { 'ask.1': YES });
    assert.match(textOf(await get(running, late)), /it took longer than 20m/);
    clock.advance(10 * MINUTE);
    assert.equal(errorOf(await send(running, { method: 'tasks/get', task: late })).code, -32_602);
    assert.equal(calls(), 1);
  });

  test('is ended by the stop of its replica, which others are told', async () => {
    const [first, second] = [await replica(), await replica()];
    const { id } = await beginSlow(first);
    await first.stop();
    replicas.splice(0, 1);
    const got = await settled(second, id);
    assert.match(textOf(got), /stop/);
    assert.equal(calls(), 1);
  });
});

const requestsOf = (got: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => {
  assert.equal(got['status'], 'input_required', JSON.stringify(got));
  const requests = got['inputRequests'] as Readonly<Record<string, { readonly params: { readonly message: string } }>>;
  return Object.fromEntries(Object.entries(requests).map(([key, { params }]) => [key, params.message]));
};
