import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ClientBackendSessions } from '../../runtime/backends/index.ts';
import type { Call } from '../../runtime/call/call.ts';
import type { Inbound } from '../../runtime/call/inbound.ts';
import { bodyOf, type Reply } from '../../runtime/call/reply.ts';
import type { Target } from '../../runtime/call/target.ts';
import type { User } from '../../runtime/call/caller.ts';
import { errorResponse, legacyEra, parseByEra, Sessions, SseConnections } from '../../runtime/edge/index.ts';
import { asVmcpError, VmcpError } from '../../runtime/errors.ts';
import { dispatcher, pipeline, type Stages } from '../../runtime/pipeline.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { userOf } from '../fixtures/callers.ts';
import { silentClient } from '../fixtures/silent-client.ts';

const [alice, bob] = ['alice', 'bob'].map((subject) => userOf(subject)) as [User, User];

/** The way of a request with sessions of which one waits to be told, as if they were kept elsewhere. */
const newBackendSessions = (): ClientBackendSessions => new ClientBackendSessions({ owner: () => alice });

const make = () => {
  const limits = { ttlMs: 60_000, count: 10, calls: 32 };
  let last = 0;
  const newId = () => `s${(last += 1)}`;
  const sessions = new Sessions(limits, { clock: frozenClock(), newId, newBackendSessions });
  const steps: string[] = [];
  const legacy = legacyEra({
    connections: new SseConnections({ newId, endSession: () => {}, limit: 1 }),
    sessions: {
      create: async (caller, revision) => sessions.create(caller, revision),
      use: async (id, caller) => sessions.use(id, caller),
      end: async (session) => sessions.end(session),
    },
    serverInfo: () => ({ name: 'x', version: '1' }),
    instructions: () => '',
    list: async (_kind, _cursor, caller) => Buffer.from(JSON.stringify({ tools: [], caller: caller.kind })),
    isStopping: () => false,
    toleratesHeaders: () => true,
  });
  const whole = (body: string): Reply => ({ kind: 'whole', status: 200, body: Buffer.from(body) });
  const stages: Stages = {
    audit: (record, next) => {
      steps.push(`audit ${record.request.http}`);
      return next();
    },
    trace: (_record, next) => next(),
    authenticate: ({ headers }) => {
      steps.push('authenticate');
      if (headers.authorization === 'nobody') throw new VmcpError('internal', 'no');
      return headers.authorization === 'bob' ? bob : alice;
    },
    parse: parseByEra({ legacy, modern: { parse: () => assert.fail('not of that era') } }),
    aroundCall: (_call, _record, next) => next(),
    admit: ({ name }) => {
      if (name === 'fault') throw new TypeError('cannot read host of undefined');
      return { kind: 'backend', backend: 'a', ownName: Buffer.from(name) };
    },
    serve: async ({ method, request }) =>
      whole(`${method} ${request.bytes.toString('utf8', request.target.start, request.target.end)}`),
    refuse: (error, { id }, request) =>
      errorResponse(asVmcpError(error), { id, correlationId: request.correlationId() }),
  };
  const handle = pipeline(stages);
  const ask = async (http: Inbound['http'], body: string, headers: Inbound['headers'] = {}) => {
    const reply = await handle({
      http,
      endpoint: 'mcp',
      query: '',
      sessionId: headers['mcp-session-id'] as string | undefined,
      body: Buffer.from(body),
      receive: () => {},
      headers,
      clientAddress: undefined,
      correlationId: () => 'c',
      send: () => false,
      backlog: () => undefined,
      onGone: () => {},
    });
    if (reply.kind === 'stream') throw new Error('a stream');
    return { status: 200, ...reply, body: bodyOf(reply) };
  };
  return { ask, steps, sessions };
};

const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}';
const call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}';

describe('the way of every request', () => {
  test('waits for a session that is kept elsewhere', async () => {
    const { ask } = make();
    const opened = await ask('POST', initialize);
    assert.deepEqual(opened.headers, ['mcp-session-id', 's1']);
    const answer = await ask('POST', call, { 'mcp-session-id': 's1' });
    assert.equal(answer.body?.toString(), 'tools/call "echo"');
    const refusal = await ask('POST', call, { 'mcp-session-id': 's2' });
    assert.equal(refusal.status, 404);
    assert.match(refusal.body?.toString() ?? '', /^\{"jsonrpc":"2\.0","id":2,"error":\{"code":-32001/);
  });

  test('answers a fault of ours with 500 and a number to ask after, and without a word of it', async () => {
    const { ask } = make();
    await ask('POST', initialize);
    const { status, body } = await ask('POST', call.replace('echo', 'fault'), { 'mcp-session-id': 's1' });
    assert.equal(status, 500);
    const error = { code: -32_603, message: 'internal error', data: { reason: 'internal', correlationId: 'c' } };
    assert.deepEqual(JSON.parse(body?.toString() ?? ''), { jsonrpc: '2.0', id: 2, error });
  });

  test('tells a list who asks', async () => {
    const { ask } = make();
    await ask('POST', initialize);
    const list = '{"jsonrpc":"2.0","id":3,"method":"tools/list"}';
    const { body } = await ask('POST', list, { 'mcp-session-id': 's1' });
    assert.match(body?.toString() ?? '', /"caller":"user"/);
  });

  test('is that of DELETE too: audited, authenticated, and refused for the session of another', async () => {
    const { ask, steps, sessions } = make();
    await ask('POST', initialize);
    steps.length = 0;
    await assert.rejects(ask('DELETE', '', { 'mcp-session-id': 's1', authorization: 'nobody' }), VmcpError);
    assert.equal((await ask('DELETE', '', { 'mcp-session-id': 's1', authorization: 'bob' })).status, 404);
    assert.equal(sessions.size, 1);
    assert.equal((await ask('DELETE', '', { 'mcp-session-id': 's1' })).status, 204);
    assert.equal(sessions.size, 0);
    assert.deepEqual(steps.slice(0, 2), ['audit DELETE', 'authenticate']);
  });
});

const callOf = (signal: AbortSignal): Call => ({
  caller: alice,
  method: 'tools/call',
  names: 'tool',
  name: 't',
  origin: 'client',
  depth: 0,
  request: { bytes: Buffer.alloc(0), id: Buffer.from('1'), target: SPAN, params: undefined, meta: undefined },
  backendSessions: newBackendSessions(),
  signal,
  client: silentClient(),
});
const SPAN = { start: 0, end: 0 };

describe('a call whose admission takes its time', () => {
  const make = () => {
    const controller = new AbortController();
    const admitted = Promise.withResolvers<Target>();
    const served: string[] = [];
    const dispatch = dispatcher({
      aroundCall: (_call, _record, next) => next(),
      admit: () => admitted.promise,
      serve: async ({ name }) => {
        served.push(name);
        return { kind: 'whole', status: 200 };
      },
    });
    const call = callOf(controller.signal);
    return { controller, admitted, served, ask: () => dispatch(call) };
  };
  const TARGET: Target = { kind: 'backend', backend: 'a', ownName: Buffer.from('"t"') };
  const cancelled = new VmcpError('cancelled', 'the client went away');

  test('is given up as soon as nobody wants it, and never served', async () => {
    const { controller, admitted, served, ask } = make();
    const answer = ask();
    controller.abort(cancelled);
    await assert.rejects(answer, cancelled);
    admitted.resolve(TARGET);
    await setImmediate();
    await assert.rejects(ask(), cancelled, 'nor when nobody wanted it before');
    assert.deepEqual(served, []);
  });

  test('may be refused after it was given up: nobody hears of that', async () => {
    const { controller, admitted, ask } = make();
    const early = ask();
    controller.abort(cancelled);
    await assert.rejects(early, cancelled);
    await assert.rejects(ask(), cancelled);
    admitted.reject(new VmcpError('forbidden', 'forbidden'));
    await setImmediate();
  });

  test('that nobody wants from the start may be refused, too', async () => {
    const { controller, admitted, ask } = make();
    controller.abort(cancelled);
    await assert.rejects(ask(), cancelled);
    admitted.reject(new VmcpError('forbidden', 'forbidden'));
    await setImmediate();
  });

  test('is served then, and leaves nothing behind at what may cancel it', async () => {
    const { controller, admitted, served, ask } = make();
    const answer = ask();
    admitted.resolve(TARGET);
    await answer;
    await setImmediate();
    assert.deepEqual(served, ['t']);
    assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
  });
});
