import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import {
  answerError,
  answerJson,
  answerSse,
  answerStatus,
  type BackendOptions,
  count,
  type FixtureBackend,
  hang,
  startBackend,
  textResult,
} from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { covers } from '../../requirements.ts';

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
let clock: FrozenClock;

beforeEach(async () => {
  clock = frozenClock();
  backend = await startBackend({ tools: ['echo'] });
  running = await startRuntime(configFile({ a: backend.url }), {}, { clock });
  session = await openSession(running.url);
  await session.toolNames();
});
afterEach(async () => {
  clock.advance(60_000);
  const stopped = running.stop();
  await backend.close();
  clock.advance(60_000);
  await stopped;
});

/** The catalogue connection goes on as before; calls get `behaviour`. */
const onCall = (on: BackendOptions['on']): void =>
  backend.set({ on: (exchange) => (exchange.recorded.method === 'tools/call' ? on?.(exchange) : undefined) });

const methodsSince = (index: number): (string | undefined)[] =>
  backend.requests.slice(index).map(({ method, http }) => method ?? http);

const toolError = ({ status, json }: RawAnswer) => {
  assert.equal(status, 200);
  const { result } = json as {
    result: {
      isError?: boolean;
      content: { text: string }[];
      _meta: Record<string, { reason: string; correlationId: string }>;
    };
  };
  assert.equal(result.isError, true);
  const { reason, correlationId } = result._meta['vmcp.dev/error'] ?? { reason: '', correlationId: '' };
  assert.match(correlationId, /^[0-9a-f-]{36}$/);
  return { reason, text: result.content[0]?.text ?? '' };
};

const resultText = ({ json }: RawAnswer): string =>
  (json as { result: { content: { text: string }[] } }).result.content[0]?.text ?? '';

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
    onCall(({ id }) => answerStatus(400, `{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"no"}}`));
    const before = backend.requests.length;
    const answer = await session.call('a_echo');
    assert.deepEqual((answer.json as { error: unknown }).error, { code: -32602, message: 'no' });
    assert.deepEqual(methodsSince(before), ['tools/call', 'ping']);
  });

  test('is opened anew only once: a second 404 is the answer', async () => {
    await session.call('a_echo');
    onCall(() => answerStatus(404));
    const before = backend.requests.length;
    assert.equal(toolError(await session.call('a_echo')).reason, 'backend_unavailable');
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
    assert.equal(toolError(await session.call('a_echo')).reason, 'backend_unavailable');
    assert.equal(elsewhere.requests.length, 0);
    await elsewhere.close();
  });
});

describe('an event stream', () => {
  test('is read up to the answer; progress on it reaches the client before the answer', async () => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    onCall(() => answerSse(textResult('done'), [progress, progress]));
    const answer = await session.call('a_echo');
    assert.equal(resultText(answer), 'done');
    assert.deepEqual(answer.messages.slice(0, 2), [JSON.parse(progress), JSON.parse(progress)]);
  });

  test('may be cut into pieces anywhere', async () => {
    onCall(() => ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      const text = `: hello\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":${id},"result":${textResult('ü')}}\r\n\r\n`;
      const bytes = Buffer.from(text);
      const next = (at: number): void => {
        if (at >= bytes.length) return void response.end();
        response.write(bytes.subarray(at, at + 3), () => setImmediate(next, at + 3));
      };
      next(0);
    });
    assert.equal(resultText(await session.call('a_echo')), 'ü');
  });

  test('that stays open after the answer is cut', async () => {
    const closed = Promise.withResolvers<void>();
    onCall(() => ({ id, response }) => {
      response.on('close', closed.resolve);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":${textResult('done')}}\n\n`);
    });
    assert.equal(resultText(await session.call('a_echo')), 'done');
    clock.advance(1_000);
    await closed.promise;
  });

  test('a request of the backend on it is answered with an error, a ping with a result', async () => {
    onCall(() =>
      answerSse(textResult('done'), [
        '{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}',
        '{"jsonrpc":"2.0","id":7,"method":"ping"}',
      ]),
    );
    await session.call('a_echo');
    const refusal = await backend.received(({ body }) => body.includes('"s1"'));
    assert.deepEqual(JSON.parse(refusal.body), {
      jsonrpc: '2.0',
      id: 's1',
      error: { code: -32601, message: 'not supported' },
    });
    const pong = await backend.received(({ body }) => body.includes('"id":7'));
    assert.deepEqual(JSON.parse(pong.body), { jsonrpc: '2.0', id: 7, result: {} });
  });
});

describe('a backend that fails gives a tool result with isError and a reason', () => {
  test('one that is gone', async () => {
    await backend.close();
    assert.equal(toolError(await session.call('a_echo')).reason, 'backend_unavailable');
    backend = await startBackend();
  });

  covers('limits.timeout.default');
  test('one that is silent for 30 s, and it is told', async () => {
    await session.call('a_echo');
    onCall(() => hang);
    const answer = session.call('a_echo');
    await backend.received(({ method, body }) => method === 'tools/call' && body.includes('"id":3'));
    clock.advance(29_999);
    clock.advance(1);
    assert.equal(toolError(await answer).reason, 'backend_timeout');
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.equal(told.params['requestId'], 3);
  });

  test('its own JSON-RPC error is relayed unchanged', async () => {
    onCall(() => answerError('{"code":-32042,"message":"login","data":{"x":[1.0,1e400]}}'));
    const { text } = await session.call('a_echo');
    assert.equal(text, '{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"login","data":{"x":[1.0,1e400]}}}');
  });

  test('an error without an id gets that of the call', async () => {
    onCall(() => answerStatus(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'));
    assert.deepEqual((await session.call('a_echo')).json, {
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32600, message: 'no' },
    });
    onCall(() => answerStatus(400, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}'));
    assert.deepEqual((await session.call('a_echo')).json, {
      jsonrpc: '2.0',
      id: 3,
      error: { code: -32600, message: 'no' },
    });
  });
});

describe('silence', () => {
  test('is broken by messages of the backend, not by comments', async () => {
    const streams: { write: (text: string) => void }[] = [];
    onCall(() => ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n');
      streams.push(response);
    });
    const answer = session.call('a_echo', {});
    await backend.received(({ method }) => method === 'tools/call');
    let isOver = false;
    void answer.then(() => (isOver = true));
    const progress = '{"jsonrpc":"2.0","id":"ask-%","method":"ping"}';
    for (let step = 0; step < 3; step += 1) {
      clock.advance(29_000);
      streams[0]?.write(`data: ${progress.replace('%', String(step))}\n\n`);
      // The answer to the backend's ping shows that the message has been heard.
      await backend.received(({ body }) => body.includes(`ask-${step}`));
      assert.equal(isOver, false);
    }
    streams[0]?.write(': comment\n\n');
    clock.advance(30_000);
    assert.equal(toolError(await answer).reason, 'backend_timeout');
  });

  test('or not, no call lives longer than 30 minutes', async () => {
    const stream = Promise.withResolvers<{ write: (text: string) => void }>();
    onCall(() => ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.resolve(response);
    });
    const answer = session.call('a_echo', {});
    const { write } = await stream.promise.then((response) => ({ write: (text: string) => response.write(text) }));
    for (let minute = 0; minute < 61; minute += 1) {
      clock.advance(29_900);
      write(`data: {"jsonrpc":"2.0","id":"ask-${minute}","method":"ping"}\n\n`);
      if (minute < 60) await backend.received(({ body }) => body.includes(`"ask-${minute}"`));
    }
    assert.equal(toolError(await answer).reason, 'backend_timeout');
  });
});

describe('cancellation', () => {
  test('ends the call, without an answer, and the backend is told under the id it knows', async () => {
    await session.call('a_echo');
    onCall(() => hang);
    const answer = session.send({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } });
    await backend.received(({ body }) => body.includes('"slow"'));
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'slow', reason: 'enough' },
    };
    assert.equal((await session.send(cancel)).status, 202);
    const { status, text } = await answer;
    assert.equal(status, 200);
    assert.equal(text, '');
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.deepEqual(told.params, { requestId: 'slow', reason: 'enough' });
    assert.equal(
      told.headers['mcp-session-id'],
      backend.requests.find(({ body }) => body.includes('"slow"'))?.headers['mcp-session-id'],
    );
  });

  test('knows a call by its id, however it is spelt', async () => {
    await session.call('a_echo');
    onCall(() => hang);
    const answer = session.send('{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"a_echo"}}');
    await backend.received(({ body }) => body.includes('"id":70'));
    await session.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.0e1}}');
    assert.equal((await answer).text, '');
  });

  test('stays possible: a second request under the id of one still under way is refused', async () => {
    await session.call('a_echo');
    onCall(() => hang);
    const call = '{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"a_echo"}}';
    const first = session.send(call);
    await backend.received(({ body }) => body.includes('"twice"'));
    const { status, json } = await session.send(call);
    const { id, error } = json as { id: string; error: { code: number } };
    assert.deepEqual([status, id, error.code], [400, 'twice', -32600]);
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'twice' } });
    assert.equal((await first).text, '');
  });

  test("of another session's call does nothing", async () => {
    const other = await openSession(running.url);
    let release = (): void => {};
    onCall(() => (exchange) => {
      release = () => answerJson(textResult('done'))(exchange);
    });
    const answer = session.send({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } });
    await backend.received(({ body }) => body.includes('"slow"'));
    await other.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } });
    release();
    assert.equal(resultText(await answer), 'done');
    assert.equal(count(backend, 'notifications/cancelled'), 0);
  });

  test('a client that hangs up cancels nothing', async () => {
    let release = (): void => {};
    onCall(() => (exchange) => {
      release = () => answerJson(textResult('done'))(exchange);
    });
    const hangUp = new AbortController();
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'left', method: 'tools/call', params: { name: 'a_echo' } });
    const answer = fetch(running.url, { method: 'POST', headers, body, signal: hangUp.signal });
    await backend.received(({ body }) => body.includes('"left"'));
    hangUp.abort();
    await assert.rejects(answer);
    assert.equal((await session.request('ping')).status, 200);
    release();
    assert.equal(count(backend, 'notifications/cancelled'), 0);
  });
});

describe('the list of a backend', () => {
  const lists = (): number => count(backend, 'tools/list');

  test('is not asked for since a call shows that the backend is down: its checks tell', async () => {
    await session.call('a_echo');
    clock.advance(1_000);
    const before = backend.requests.length;
    onCall(() => answerStatus(503));
    await session.call('a_echo');
    clock.advance(0);
    await session.request('ping');
    assert.equal(backend.requests.length, before + 1);
  });

  test('comes after a check when a call was answered by what is no MCP server', async () => {
    clock.advance(1_000);
    const before = count(backend, 'ping');
    onCall(() => answerStatus(200, 'no'));
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
      onCall(() => answer);
      await session.call('a_echo');
    }
    onCall(undefined);
    await session.call('a_echo');
    assert.equal(lists(), before);
  });
});
