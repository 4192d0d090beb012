import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerJson, count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { askedIn, sendModern, type Sent } from '../../fixtures/modern-caller.ts';
import { as, filesWithPolicies, policyFeatures } from '../../fixtures/policies.ts';
import { startRuntime } from '../../fixtures/runtime.ts';
import { sharedStore } from '../../fixtures/shared-sessions.ts';

const MINUTE = 60_000;

/** Calls `a.one`, asks, and calls `a.two` with what both have given. */
const asking = (more: object = {}): object => ({
  name: 'deploy',
  timeout: '20m',
  steps: [
    { id: 'build', tool: 'a.one', arguments: { of: '{{.params.of}}' } },
    { id: 'ask', type: 'elicitation', message: 'Deploy {{.steps.build.output.id}}?', timeout: '10m' },
    {
      id: 'go',
      tool: 'a.two',
      arguments: { id: '{{.steps.build.output.id}}', answer: '{{.steps.ask.output.action}}' },
      ...more,
    },
  ],
});

const EVERYTHING = 'permit(principal, action, resource);';
const YES = { ask: { action: 'accept', content: {} } };

describe('a workflow that waits for its user (2026-07-28)', () => {
  let backend: FixtureBackend;
  let clock: FrozenClock;
  let store: Store;
  let id = 'B-1';
  const replicas: Running[] = [];

  const files = (policy = EVERYTHING, workflow = asking()) =>
    filesWithPolicies({ a: backend.url }, { type: 'cedar', policies: [policy] }, { compositeTools: [workflow] });
  /** One more replica, which shares the store with the others. */
  const replica = async (more = files()): Promise<Running> => {
    const shared = { ...store, close: async () => {} };
    const running = await startRuntime(
      more,
      {},
      { clock, features: policyFeatures(), featureDeps: (deps) => ({ ...deps, store: shared }) },
    );
    replicas.push(running);
    return running;
  };
  const send = ({ url }: Running, sent: Sent = {}, user = 'ada') =>
    sendModern(url, { name: 'deploy', args: { of: 'x' }, ...sent, headers: as(user) });
  const begin = async (running: Running): Promise<string> => askedIn(await send(running)).state;
  const refused = (answer: Awaited<ReturnType<typeof send>>, words: RegExp): void => {
    const { code, message } = errorOf(answer);
    assert.equal(code, -32_602, message);
    assert.match(message, words);
  };
  const calls = (): number => count(backend, 'tools/call');

  beforeEach(async () => {
    clock = frozenClock();
    store = sharedStore(clock);
    id = 'B-1';
    backend = await startBackend({
      tools: ['one', 'two'],
      on: ({ recorded: { method, params } }) =>
        method === 'tools/call' && params['name'] === 'one'
          ? answerJson(JSON.stringify({ content: [], structuredContent: { id } }))
          : undefined,
    });
  });
  afterEach(async () => {
    await Promise.all(replicas.splice(0).map((running) => running.stop()));
    await backend.close();
  });

  const GONE_ON = 'two {"id":"B-1","answer":"accept"}';

  test('goes on at another replica, after the first one has ended, and runs no step twice', async () => {
    const first = await replica();
    const asked = askedIn(await send(first));
    assert.deepEqual(asked.requests, {
      ask: {
        method: 'elicitation/create',
        params: { message: 'Deploy B-1?', requestedSchema: { type: 'object', properties: {} } },
      },
    });
    await first.stop();
    replicas.length = 0;
    const answer = await send(await replica(), { state: asked.state, answers: YES });
    assert.equal(resultText(answer), GONE_ON);
    assert.equal(calls(), 2);
  });

  test('holds nothing for its client meanwhile', async () => {
    const running = await replica();
    await begin(running);
    const before = clock.pending().length;
    for (let times = 0; times < 3; times += 1) await begin(running);
    assert.equal(clock.pending().length, before);
  });

  test('is asked again where the answer is missing, and then goes on', async () => {
    const running = await replica();
    const again = askedIn(await send(running, { state: await begin(running), answers: {} }));
    assert.equal(resultText(await send(running, { state: again.state, answers: YES })), GONE_ON);
  });

  test('does not go on twice with one state', async () => {
    const running = await replica();
    const state = await begin(running);
    await send(running, { state, answers: YES });
    refused(await send(running, { state, answers: YES }), /it was continued already/);
    refused(await send(await replica(), { state, answers: YES }), /it was continued already/);
    assert.equal(calls(), 2);
  });

  test('does not go on for another user, or with other arguments', async () => {
    const running = await replica();
    const state = await begin(running);
    refused(await send(running, { state, answers: YES }, 'bob'), /of no call that waits/);
    refused(await send(running, { state, answers: YES, args: { of: 'y' } }), /of no call that waits/);
    assert.equal(calls(), 1);
    assert.equal(resultText(await send(running, { state, answers: YES })), GONE_ON, 'and that has used up nothing');
  });

  test('does not go on with a state that was edited, cut or invented', async () => {
    const running = await replica();
    const state = await begin(running);
    const middle = Math.floor(state.length / 2);
    const other = state[middle] === 'A' ? 'B' : 'A';
    for (const forged of [
      `${state.slice(0, middle)}${other}${state.slice(middle + 1)}`,
      state.slice(0, -8),
      `${state}AAAA`,
      'workflow.s.',
      `workflow.k.${'A'.repeat(32)}`,
      'workflow.k.key',
      'workflow.',
      'anything',
    ])
      refused(await send(running, { state: forged, answers: YES }), /of no call that waits/);
    assert.equal(calls(), 1);
  });

  test('does not go on at a server whose store is another one', async () => {
    const state = await begin(await replica());
    store = sharedStore(clock);
    refused(await send(await replica(), { state, answers: YES }), /of no call that waits/);
  });

  test('does not go on once its time is over', async () => {
    const running = await replica();
    const state = await begin(running);
    clock.advance(20 * MINUTE);
    refused(await send(running, { state, answers: YES }), /its time is over/);
  });

  test('fails where the time of the step that asks is over', async () => {
    const running = await replica();
    const state = await begin(running);
    clock.advance(10 * MINUTE);
    const answer = await send(running, { state, answers: YES });
    assert.equal(resultText(answer), 'step "ask" failed: it took longer than 10m');
    assert.equal(calls(), 1);
  });

  test('begins again where it has been changed meanwhile', async () => {
    const running = await replica();
    const state = await begin(running);
    running.reload(files(EVERYTHING, asking({ onError: { action: 'continue' } })));
    refused(await send(running, { state, answers: YES }), /the workflow has been changed/);
  });

  test('goes on after another part of the configuration has changed', async () => {
    const running = await replica();
    const state = await begin(running);
    running.reload([...files(`${EVERYTHING} // more`)]);
    assert.equal(resultText(await send(running, { state, answers: YES })), GONE_ON);
  });

  test('does not go on for a user who may not call it, or one of its tools, any more', async () => {
    const running = await replica();
    const state = await begin(running);
    running.reload(files('permit(principal, action, resource) unless { resource == Tool::"a_two" };'));
    assert.equal(errorOf(await send(running, { state, answers: YES })).data.reason, 'forbidden');
    assert.equal(calls(), 1);
  });

  test('asks no client that cannot show a question', async () => {
    const answer = await send(await replica(), { capabilities: {} });
    assert.equal(answer.status, 400);
    assert.deepEqual(errorOf(answer).data['requiredCapabilities'], { elicitation: {} });
  });

  test('takes no answer to a question that it has not asked', async () => {
    const running = await replica();
    const asked = askedIn(await send(running, { answers: YES }));
    assert.deepEqual(Object.keys(asked.requests), ['ask']);
    assert.equal(calls(), 1);
  });

  test('takes room of the store for 64 states of its client: one more displaces the one that ends first', async () => {
    const running = await replica();
    id = 'x'.repeat(20_000);
    const ofAnother = askedIn(await send(running, {}, 'bob')).state;
    const first = await begin(running);
    clock.advance(1_000);
    const second = await begin(running);
    for (let more = 0; more < 63; more += 1) await begin(running);
    refused(await send(running, { state: first, answers: YES }), /of no call that waits/);
    for (const [state, user] of [
      [second, 'ada'],
      [ofAnother, 'bob'],
    ] as const)
      assert.match(resultText(await send(running, { state, answers: YES }, user)), /^two/);
  });

  test('with large results is kept in the store, and with larger ones cannot wait', async () => {
    const running = await replica();
    id = 'x'.repeat(100_000);
    const state = await begin(running);
    assert.ok(state.length < 100, state);
    refused(await send(running, { state, answers: YES }, 'bob'), /of no call that waits/);
    assert.match(
      resultText(await send(running, { state, answers: YES })),
      /^two \{"id":"x{100000}","answer":"accept"\}$/,
    );
    refused(await send(running, { state, answers: YES }), /of no call that waits/);

    id = 'x'.repeat(600_000);
    const answer = await send(running);
    assert.equal(resultOf(answer)['isError'], true);
    assert.match(resultText(answer), /"deploy" cannot wait: its results so far are larger than 1 MiB/);
  });
});
