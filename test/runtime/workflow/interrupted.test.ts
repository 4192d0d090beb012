import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { LIMITS } from '../../../runtime/limits.ts';
import type { Running } from '../../../runtime/start.ts';
import { resultText } from '../../fixtures/answers.ts';
import { type CallThere, startAskingBackend, type AskingBackend } from '../../fixtures/asking-backend.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { ACCEPTED, askedIn, before as messagesBefore, sendModern } from '../../fixtures/modern-caller.ts';
import { startCollector } from '../../fixtures/otlp-collector.ts';
import { openSession, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { legacyCaller } from '../../fixtures/workflow-callers.ts';

const first = { id: 'first', tool: 'a.echo', arguments: { of: 'first' } };
const last = { id: 'last', tool: 'a.echo', arguments: { of: 'last' } };

/** Workflows whose second step is of each type, and waits at the backend. */
const WORKFLOWS = [
  {
    name: 'tool',
    steps: [first, { id: 'mid', tool: 'b.echo', dependsOn: ['first'] }, { ...last, dependsOn: ['mid'] }],
  },
  {
    name: 'forEach',
    steps: [
      first,
      { id: 'mid', type: 'forEach', collection: '[1,2]', step: { tool: 'b.echo' }, dependsOn: ['first'] },
      { ...last, dependsOn: ['mid'] },
    ],
  },
];

describe('a workflow that is interrupted', () => {
  let a: FixtureBackend;
  let b: AskingBackend;
  let clock: FrozenClock;
  let running: Running;

  const files = (compositeTools: readonly object[] = WORKFLOWS) =>
    configFile({ a: a.url, b: b.url }, { compositeTools: copied(compositeTools) });
  /** The call of the second step, at the backend. */
  const there = (): Promise<CallThere> => b.next();
  /** The first call of a legacy session, or another one, which is cancelled once its second step is at the backend. */
  const cancelledThere = async (session: RawSession, name: string, requestId = 1) => {
    const answer = session.call(name);
    const call = await there();
    if (name === 'forEach') await there();
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    await b.cancelled(call);
    return { answer: await answer, call };
  };

  beforeEach(async () => {
    clock = frozenClock();
    a = await startBackend();
    b = await startAskingBackend();
    running = await startRuntime(files(), {}, { clock });
  });
  afterEach(async () => {
    b.drop();
    await Promise.all([running.stop(), a.close(), b.close()]);
  });
  const lastWasCalled = (): boolean => a.requests.some(({ body }) => body.includes('"of":"last"'));

  test('again and again keeps no room for what its backends answer late', async () => {
    const session = await openSession(running.url);
    const late = 'x'.repeat(LIMITS.workflowBytes / 2);
    // More together than the results of all workflows may take.
    const times = LIMITS.workflowBytesTogether / late.length + 1;
    for (let requestId = 1; requestId <= times; requestId += 1) {
      const { call } = await cancelledThere(session, 'tool', requestId);
      call.finish(late);
    }
    const answer = session.call('tool');
    (await there()).finish(late);
    assert.doesNotMatch(resultText(await answer), /^step "mid" failed/);
  });

  for (const { name } of WORKFLOWS) {
    test(`by its client cancels what is under way in a ${name} step and calls nothing more (legacy)`, async () => {
      const { answer } = await cancelledThere(await openSession(running.url), name);
      assert.equal(answer.json, undefined);
      assert.equal(lastWasCalled(), false);
    });

    test(`by its client ends its ${name} step at once, whatever the backend still does`, async (t) => {
      const collector = await startCollector();
      t.after(() => collector.close());
      const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate: '1.0' };
      const traced = await startRuntime(
        configFile({ a: a.url, b: b.url }, { telemetry, compositeTools: copied(WORKFLOWS) }),
      );
      const { call } = await cancelledThere(await openSession(traced.url), name);
      call.finish('late');
      await traced.stop();
      const span = collector.spans().find(({ name: each }) => each === 'workflow step mid') ?? assert.fail();
      assert.equal(span.attributes['error.type'], 'cancelled_by_client');
    });

    test(`by its client going away does the same in a ${name} step (2026-07-28)`, async () => {
      const gone = new AbortController();
      const answer = sendModern(running.url, { name, signal: gone.signal }).catch(() => 'gone');
      const call = await there();
      gone.abort();
      await b.cancelled(call);
      assert.equal(await answer, 'gone');
      assert.equal(lastWasCalled(), false);
    });

    test(`by the death of the backend in a ${name} step fails there, with one call to it for each item`, async () => {
      const session = await openSession(running.url);
      const answer = session.call(name);
      await there();
      if (name === 'forEach') await there();
      b.drop();
      const text = resultText(await answer);
      assert.match(text, /^step "mid" failed: backend "b"/);
      assert.equal(count(b.backend, 'tools/call'), name === 'forEach' ? 2 : 1);
      assert.equal(lastWasCalled(), false);
    });

    test(`by a new configuration in a ${name} step goes on as it was begun`, async () => {
      const session = await openSession(running.url);
      const answer = session.call(name);
      const calls = [await there(), ...(name === 'forEach' ? [await there()] : [])];
      assert.deepEqual(running.reload(files([{ name: 'other', steps: [first] }])), { ok: true });
      for (const call of calls) call.finish('done');
      assert.equal(resultText(await answer), 'echo {"of":"last"}');
    });

    test(`by the end of the process in a ${name} step is told so, and calls nothing more`, async () => {
      const session = await openSession(running.url);
      const answer = session.call(name);
      await there();
      const stopped = running.stop();
      assert.equal((await answer).status === 200 || (await answer).status === 503, true);
      assert.equal(lastWasCalled(), false);
      await stopped;
    });
  }

  test('by a tool that has gone meanwhile fails without the name of it, which may be hidden', async () => {
    const session = await openSession(running.url);
    const answer = session.call('tool');
    const call = await there();
    running.reload(configFile({ b: b.url }));
    call.finish('done');
    assert.equal(resultText(await answer), 'step "last" failed: its tool is not there any more');
    assert.equal(lastWasCalled(), false);
  });

  test('by its user, who cancels the question, calls nothing more (legacy)', async () => {
    const steps = [
      first,
      { id: 'ask', type: 'elicitation', message: '?', dependsOn: ['first'] },
      { ...last, dependsOn: ['ask'] },
    ];
    running.reload(files([{ name: 'asks', steps }]));
    const call = await legacyCaller(running.url);
    const answer = await call('asks', {}, () => ({ action: 'cancel' }));
    assert.equal(resultText(answer), 'step "ask" failed: the user cancelled');
    assert.equal(lastWasCalled(), false);
  });

  test('a question of a tool reaches the client, whichever era, and its answer the tool', async () => {
    const ask = (call: CallThere): void =>
      call.say({
        jsonrpc: '2.0',
        id: 7,
        method: 'elicitation/create',
        params: { message: 'who?', requestedSchema: {} },
      });
    const legacy = await legacyCaller(running.url);
    const asked: unknown[] = [];
    const answer = legacy('tool', {}, ({ message }) => {
      asked.push(message);
      return ACCEPTED;
    });
    const call = await there();
    ask(call);
    assert.deepEqual((await b.answerTo(7)).result, ACCEPTED);
    call.finish('done');
    assert.equal(resultText(await answer), 'echo {"of":"last"}');
    assert.deepEqual(asked, ['who?']);

    const held = sendModern(running.url, { name: 'tool', args: {} });
    const second = await there();
    ask(second);
    const { state, requests } = askedIn(await held);
    const [key = ''] = Object.keys(requests);
    const rest = sendModern(running.url, { name: 'tool', args: {}, state, answers: { [key]: ACCEPTED } });
    second.finish('done');
    assert.equal(resultText(await rest), 'echo {"of":"last"}');
  });

  test('tells of each step that has ended, under the token of the client', async () => {
    const told = (answer: RawAnswer) => messagesBefore(answer).map(({ params }) => params);
    const session = await openSession(running.url);
    const legacy = session.request('tools/call', { name: 'tool', arguments: {}, _meta: { progressToken: 'p' } });
    (await there()).finish('done');
    const steps = ['first', 'mid', 'last'].map((id, index) => ({
      progress: index + 1,
      total: 3,
      message: `step "${id}" completed`,
    }));
    assert.deepEqual(
      told(await legacy),
      steps.map((step) => ({ progressToken: 'p', ...step })),
    );
    const modern = sendModern(running.url, { name: 'tool', token: 5 });
    (await there()).finish('done');
    assert.deepEqual(
      told(await modern),
      steps.map((step) => ({ progressToken: 5, ...step })),
    );
  });
});

/** Without objects that are there twice: the configuration takes no YAML aliases. */
const copied = (value: readonly object[]): readonly object[] => JSON.parse(JSON.stringify(value)) as readonly object[];
