import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../../runtime/start.ts';
import { reasonOf, resultText } from '../../../fixtures/answers.ts';
import { answerStatus, count, type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import type { FrozenClock } from '../../../fixtures/frozen-clock.ts';
import { onCall, startGateway, stopGateway } from '../../../fixtures/gateway.ts';
import { openSession, type RawSession } from '../../../fixtures/raw-client.ts';
import { covers } from '../../../requirements.ts';

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
let clock: FrozenClock;

beforeEach(async () => {
  ({ backend, running, session, clock } = await startGateway());
});
afterEach(() => stopGateway({ backend, running, clock }));

const methodsSince = (index: number): (string | undefined)[] =>
  backend.requests.slice(index).map(({ method, http }) => method ?? http);

describe('the session of a client at a backend', () => {
  covers('aggregation.static.transport-streamable-http');
  test('is opened by its first call, by the handshake the protocol asks for', async () => {
    const before = backend.requests.length;
    await session.call('a_echo');
    assert.deepEqual(methodsSince(before), ['initialize', 'notifications/initialized', 'tools/call']);
    const [initialize, initialized, call] = backend.requests.slice(before);
    assert.equal(initialize?.params['protocolVersion'], '2025-11-25');
    assert.deepEqual(initialize?.params['capabilities'], {});
    assert.equal(initialized?.headers['mcp-protocol-version'], '2025-11-25');
    assert.equal(call?.headers['mcp-protocol-version'], '2025-11-25');
    assert.equal(call?.headers['mcp-session-id'], initialized?.headers['mcp-session-id']);
  });

  test('is the same for all of its calls, and another one for another client', async () => {
    const other = await openSession(running.url);
    const before = backend.requests.length;
    await Promise.all([session.call('a_echo'), session.call('a_echo'), session.call('a_echo')]);
    await other.call('a_echo');
    const ids = backend.requests
      .slice(before)
      .filter(({ method }) => method === 'tools/call')
      .map(({ headers }) => headers['mcp-session-id']);
    assert.equal(new Set(ids.slice(0, 3)).size, 1);
    assert.notEqual(ids[3], ids[0]);
    assert.equal(methodsSince(before).filter((method) => method === 'initialize').length, 2);
  });

  test('ends with that of the client', async () => {
    await session.call('a_echo');
    const call = backend.requests.findLast(({ method }) => method === 'tools/call');
    await session.end();
    const ended = await backend.received(({ http }) => http === 'DELETE');
    assert.equal(ended.headers['mcp-session-id'], call?.headers['mcp-session-id']);
  });

  test('ends when the client has been away for 30 minutes', async () => {
    await session.call('a_echo');
    clock.advance(29 * 60_000);
    assert.equal((await session.request('ping')).status, 200);
    clock.advance(30 * 60_000);
    await backend.received(({ http }) => http === 'DELETE');
    assert.equal((await session.request('ping')).status, 404);
  });

  test('is opened anew once when the backend has forgotten it (404), and the call is repeated', async () => {
    await session.call('a_echo');
    backend.sessions.clear();
    const before = backend.requests.length;
    assert.equal(resultText(await session.call('a_echo', { x: 1 })), 'echo {"x":1}');
    assert.deepEqual(methodsSince(before), ['tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
  });

  test('is opened anew when the backend answers 400 to call and ping, as some do after a restart', async () => {
    await session.call('a_echo');
    backend.sessions.clear();
    backend.set({
      on: ({ recorded }) =>
        recorded.method !== 'initialize' && !backend.sessions.has(String(recorded.headers['mcp-session-id']))
          ? answerStatus(400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session"}}')
          : undefined,
    });
    const before = backend.requests.length;
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.deepEqual(methodsSince(before), [
      'tools/call',
      'ping',
      'initialize',
      'notifications/initialized',
      'tools/call',
    ]);
  });

  test('stays when a 400 was about the call', async () => {
    await session.call('a_echo');
    onCall(backend, ({ id }) =>
      answerStatus(400, `{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"no"}}`),
    );
    const before = backend.requests.length;
    const answer = await session.call('a_echo');
    assert.deepEqual((answer.json as { error: unknown }).error, { code: -32602, message: 'no' });
    assert.deepEqual(methodsSince(before), ['tools/call', 'ping']);
  });

  test('is opened anew only once: a second 404 is the answer', async () => {
    await session.call('a_echo');
    onCall(backend, () => answerStatus(404));
    const before = backend.requests.length;
    assert.equal(reasonOf(await session.call('a_echo')), 'backend_unavailable');
    assert.equal(methodsSince(before).filter((method) => method === 'tools/call').length, 2);
  });

  test('works with a backend that keeps none', async () => {
    backend.set({ isStateless: true });
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    const call = backend.requests.findLast(({ method }) => method === 'tools/call');
    assert.equal(call?.headers['mcp-session-id'], undefined);
    await session.end();
    await openSession(running.url);
    assert.equal(backend.requests.filter(({ http }) => http === 'DELETE').length, 0);
  });

  test('follows a redirect of the same origin, as servers send for a missing slash', async () => {
    backend.set({
      on: ({ response }) => (response.req.url === '/mcp' ? answerStatus(307, '', { location: '/mcp/' }) : undefined),
    });
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });

  test('follows no redirect to another origin', async () => {
    const elsewhere = await startBackend();
    backend.set({ on: () => answerStatus(307, '', { location: elsewhere.url }) });
    assert.equal(reasonOf(await session.call('a_echo')), 'backend_unavailable');
    assert.equal(elsewhere.requests.length, 0);
    await elsewhere.close();
  });
});

describe('the list of a backend', () => {
  const lists = (): number => count(backend, 'tools/list');

  test('is not asked for since a call shows that the backend is down: its checks tell', async () => {
    await session.call('a_echo');
    clock.advance(1_000);
    const before = backend.requests.length;
    onCall(backend, () => answerStatus(503));
    await session.call('a_echo');
    clock.advance(0);
    await session.request('ping');
    assert.equal(backend.requests.length, before + 1);
  });

  test('comes after a check when a call was answered by what is no MCP server', async () => {
    clock.advance(1_000);
    const before = count(backend, 'ping');
    onCall(backend, () => answerStatus(200, 'no'));
    await session.call('a_echo');
    clock.advance(0);
    await backend.received(() => count(backend, 'ping') > before);
  });

  test('is not asked for because of what a caller may have brought about', async () => {
    clock.advance(1_000);
    const before = lists();
    const bad = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
    for (const answer of [
      answerStatus(400, '{}'),
      answerStatus(400, bad),
      answerStatus(413),
      answerStatus(200, 'no'),
    ]) {
      onCall(backend, () => answer);
      await session.call('a_echo');
    }
    onCall(backend, undefined);
    await session.call('a_echo');
    assert.equal(lists(), before);
  });
});
