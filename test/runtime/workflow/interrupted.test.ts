import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { type CallThere, startAskingBackend, type AskingBackend } from '../../fixtures/asking-backend.ts';
import {
  answerJson,
  count,
  type Exchange,
  type FixtureBackend,
  startBackend,
  textResult,
} from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { ACCEPTED, askedIn, ASKABLE, before as messagesBefore, sendModern } from '../../fixtures/modern-caller.ts';
import { openSession, type RawAnswer } from '../../fixtures/raw-client.ts';
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

  for (const { name } of WORKFLOWS) {
    test(`by its client cancels what is under way in a ${name} step and calls nothing more (legacy)`, async () => {
      const session = await openSession(running.url);
      const answer = session.call(name);
      const call = await there();
      if (name === 'forEach') await there();
      await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
      await b.cancelled(call);
      assert.equal((await answer).json, undefined);
      assert.equal(lastWasCalled(), false);
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

describe('what a workflow cannot do', () => {
  test('lead back to itself for ever: the ninth workflow is refused', async (t) => {
    let gateway = '';
    const hops: unknown[] = [];
    // Another gateway, which hands each call on to the first one.
    const backend = await startBackend({
      tools: ['again'],
      on: ({ recorded: { method, params } }) => {
        if (method !== 'tools/call') return undefined;
        hops.push(params['_meta']);
        const handOn = async ({ id, response }: Exchange): Promise<void> => {
          const session = await openSession(gateway);
          const { json } = await session.request('tools/call', params);
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ ...(json as object), id: JSON.parse(id) as unknown }));
        };
        return (exchange) => void handOn(exchange);
      },
    });
    const compositeTools = [{ name: 'again', steps: [{ id: 'x', tool: 'a.again' }] }];
    const aggregation = { excludeAllTools: true };
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools, aggregation }));
    gateway = running.url;
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('again');
    assert.match(resultText(answer), /^(step "x" failed: ){8}workflows lead to each other more than 8 times/);
    assert.deepEqual(
      hops,
      [1, 2, 3, 4, 5, 6, 7, 8].map((each) => ({ 'vmcp.dev/hops': each })),
    );
  });

  test('keep results of 30 MB of five steps', async (t) => {
    const large = textResult('x'.repeat(6 * 1024 * 1024));
    const backend = await startBackend({
      on: ({ recorded: { method } }) => (method === 'tools/call' ? answerJson(large) : undefined),
    });
    const step = (n: number): object => ({ id: `s${n}`, tool: 'a.echo', dependsOn: n > 1 ? [`s${n - 1}`] : [] });
    const compositeTools = [{ name: 'large', steps: [1, 2, 3, 4, 5].map(step) }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('large');
    assert.equal(resultText(answer), 'step "s3" failed: the results of its steps together are larger than 16 MiB');
    assert.equal(count(backend, 'tools/call'), 3);
  });

  test('send more than 64 MiB of arguments', async (t) => {
    const backend = await startBackend({
      on: ({ recorded: { method } }) => (method === 'tools/call' ? answerJson(textResult('done')) : undefined),
    });
    const step = { tool: 'a.echo', arguments: { x: '{{.params.x}}{{.params.x}}' } };
    const collection = JSON.stringify(Array.from({ length: 80 }, () => 0));
    const steps = [{ id: 's', type: 'forEach', collection, maxParallel: 1, step }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools: [{ name: 'w', steps }] }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('w', { x: 'x'.repeat(500_000) });
    assert.equal(resultText(answer), 'step "s" failed: the arguments of its steps together are larger than 64 MiB');
    assert.equal(count(backend, 'tools/call'), 67);
  });

  test('be answered with a task, since a step waits for its result', async (t) => {
    const backend = await startBackend();
    const compositeTools = [{ name: 'w', steps: [{ id: 'x', tool: 'a.echo' }] }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const capabilities = { ...ASKABLE, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const answer = await sendModern(running.url, { name: 'w', capabilities });
    assert.equal(resultText(answer), 'echo {}');
    assert.equal(resultOf(answer)['resultType'], 'complete');
  });

  test('run with a state of a held call', async (t) => {
    const backend = await startBackend();
    const compositeTools = [{ name: 'w', steps: [{ id: 'x', tool: 'a.echo' }] }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const answer = await sendModern(running.url, { name: 'w', state: `${'A'.repeat(24)}.1`, answers: {} });
    assert.equal(errorOf(answer).code, -32_602);
    assert.equal(count(backend, 'tools/call'), 0);
  });
});

/** Without objects that are there twice: the configuration takes no YAML aliases. */
const copied = (value: readonly object[]): readonly object[] => JSON.parse(JSON.stringify(value)) as readonly object[];
