import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { VERSION } from '../../../runtime/version.ts';
import { covers } from '../../requirements.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { postAs } from '../../fixtures/post-as.ts';
import { answerOf, INITIALIZE, openSession, post, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
before(async () => {
  backend = await startBackend();
  running = await startRuntime(
    configFile(
      { a: backend.url },
      { extensions: { allowedHosts: ['tools.example.com'], allowedOrigins: ['https://app.example.com'] } },
    ),
  );
  session = await openSession(running.url);
});
after(async () => {
  await running.stop();
  await backend.close();
});

const errorOf = ({ json }: RawAnswer) =>
  (json as { error: { code: number; message: string; data: { correlationId?: string; reason?: string } } }).error;

const initializeAs = (protocolVersion: string) =>
  post(running.url, { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } });

describe('initialize', () => {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    test(`echoes ${revision}`, async () => {
      const { json } = await initializeAs(revision);
      assert.equal((json as { result: { protocolVersion: string } }).result.protocolVersion, revision);
    });
  }

  for (const revision of ['2026-07-28', 'never']) {
    test(`answers 2025-11-25 to ${revision}`, async () => {
      const { json } = await initializeAs(revision);
      assert.equal((json as { result: { protocolVersion: string } }).result.protocolVersion, '2025-11-25');
    });
  }

  covers('endpoints.mcp.one-server-identity', 'endpoints.mcp.streamable-http');
  test('tells one identity, what there may be, the backends and how names are made', () => {
    const { status, json } = session.initialize;
    assert.equal(status, 200);
    assert.deepEqual(json, {
      jsonrpc: '2.0',
      id: 0,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
          completions: {},
          logging: {},
        },
        serverInfo: { name: 'test', version: VERSION },
        instructions:
          'This server joins the tools of: a. A tool\'s name is "<backend>_" followed by the name its backend gives it.',
      },
    });
  });

  test('gives each session 256 random bits', () => {
    assert.match(session.id, /^[A-Za-z0-9_-]{43}$/);
  });

  test('without a protocol version is refused', async () => {
    assert.equal(errorOf(await post(running.url, { ...INITIALIZE, params: {} })).code, -32602);
  });

  test('that declares more than anybody needs is refused', async () => {
    const declare = (length: number): Promise<RawAnswer> => {
      const capabilities = { experimental: { x: 'y'.repeat(length) } };
      return post(running.url, { ...INITIALIZE, params: { ...INITIALIZE.params, capabilities } });
    };
    assert.equal(errorOf(await declare(4_096)).code, -32602);
    assert.equal((await declare(4_000)).status, 200);
  });
});

describe('a request that is not one', () => {
  const rows: readonly (readonly [string, string, number, number])[] = [
    ['not JSON', '{"jsonrpc"', 400, -32700],
    ['nothing', '', 400, -32700],
    ['two messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}{}', 400, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600],
    ['a number', '1', 400, -32600],
    ['JSON-RPC 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":2}', 400, -32600],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
    ['positional params', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600],
    ['a method given twice', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/list"}', 400, -32600],
    ['an escape that JSON lacks', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"\\q"}}', 400, -32700],
    ['a broken id', '{"jsonrpc":"2.0","id":"\\q","method":"ping"}', 400, -32700],
    ['an id beyond all numbers', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 400, -32600],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
    ['a method in two cases', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', 400, -32600],
    ['params in another case', '{"jsonrpc":"2.0","id":1,"method":"ping","PARAMS":{}}', 400, -32600],
    ['params with a letter that folds to s', '{"jsonrpc":"2.0","id":1,"method":"ping","paramſ":{}}', 400, -32600],
    [
      'a name in two cases',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","Name":"b"}}',
      400,
      -32600,
    ],
    [
      'arguments in another case',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","Arguments":{}}}',
      400,
      -32600,
    ],
    [
      'arguments given twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","arguments":{},"arguments":{}}}',
      400,
      -32600,
    ],
    [
      'a URI in two cases',
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","URI":"b"}}',
      400,
      -32600,
    ],
    ['an id of 300 bytes', `{"jsonrpc":"2.0","id":"${'x'.repeat(300)}","method":"ping"}`, 400, -32600],
    [
      'a name given twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","name":"b"}}',
      400,
      -32600,
    ],
  ];
  for (const [what, body, status, code] of rows) {
    test(`${what} is refused with ${code}`, async () => {
      const answer = await session.send(body);
      assert.equal(answer.status, status);
      assert.equal(errorOf(answer).code, code);
      assert.match(errorOf(answer).data.correlationId ?? '', /^[0-9a-f-]{36}$/);
    });
  }
});

describe('media types', () => {
  const rows: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': '' }, 415],
    [{ 'content-type': 'application/jsonp' }, 415],
    [{ 'content-type': 'application/json; charset=utf-8' }, 200],
    [{ accept: 'text/html' }, 406],
    [{ accept: '*/*' }, 200],
    [{ accept: 'application/json' }, 200],
  ];
  for (const [headers, status] of rows) {
    test(`${JSON.stringify(headers)} → ${status}`, async () => {
      const answer = await post(running.url, INITIALIZE, headers);
      assert.equal(answer.status, status);
      if (status !== 200) assert.equal(errorOf(answer).code, -32600);
    });
  }
});

test('a body above 4 MiB is refused, announced or not', async () => {
  const big = 'x'.repeat(4 * 1024 * 1024);
  const announced = await session.send({ jsonrpc: '2.0', id: 1, method: 'ping', params: { big } });
  assert.equal(announced.status, 413);
  assert.equal(errorOf(announced).code, -32600);
  const chunks = new ReadableStream({
    start: (controller) => {
      controller.enqueue(Buffer.from(big));
      controller.enqueue(Buffer.from(big));
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
  const chunked = await fetch(running.url, { method: 'POST', headers, body: chunks, duplex: 'half' });
  assert.equal(chunked.status, 413);
});

test('without a session, or with an unknown one, a body above 64 KiB is refused before it is read', async () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'ping', params: { big: 'x'.repeat(64 * 1024) } };
  assert.equal((await post(running.url, message)).status, 413);
  const unknown = await post(running.url, message, { 'mcp-session-id': 'nobody' });
  assert.equal(unknown.status, 404);
  assert.equal(errorOf(unknown).data.reason, 'session_not_found');
  assert.equal((await session.send(message)).status, 200);
});

describe('sessions', () => {
  const ping = { jsonrpc: '2.0', id: 9, method: 'ping' };

  test('a request without one is refused with 400', async () => {
    const answer = await post(running.url, ping);
    assert.equal(answer.status, 400);
    assert.equal(errorOf(answer).code, -32000);
  });

  test('an unknown one is refused with 404 and -32001', async () => {
    const answer = await post(running.url, ping, { 'mcp-session-id': 'nobody' });
    assert.equal(answer.status, 404);
    assert.equal((answer.json as { id: number }).id, 9);
    assert.equal(errorOf(answer).code, -32001);
    assert.equal(errorOf(answer).data.reason, 'session_not_found');
  });

  test('DELETE ends one, and it alone', async () => {
    const [mine, other] = [await openSession(running.url), await openSession(running.url)];
    assert.equal((await mine.end()).status, 204);
    assert.equal((await mine.request('ping')).status, 404);
    assert.equal((await mine.end()).status, 404);
    assert.equal((await other.request('ping')).status, 200);
  });
});

describe('the protocol version header', () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25', '']) {
    test(`${revision || 'absent'} is accepted`, async () => {
      assert.equal((await session.send(ping, { 'mcp-protocol-version': revision })).status, 200);
    });
  }
  test('an unknown one is refused with 400 and what is supported', async () => {
    const answer = await session.send(ping, { 'mcp-protocol-version': '1999-01-01' });
    assert.equal(answer.status, 400);
    assert.match(errorOf(answer).message, /2025-03-26, 2025-06-18, 2025-11-25/);
  });
});

describe('messages', () => {
  test('ping is answered', async () => {
    assert.deepEqual((await session.send({ jsonrpc: '2.0', id: 'p', method: 'ping' })).json, {
      jsonrpc: '2.0',
      id: 'p',
      result: {},
    });
  });

  test('a notification is accepted without an answer', async () => {
    const answer = await session.send({ jsonrpc: '2.0', method: 'notifications/whatever' });
    assert.equal(answer.status, 202);
    assert.equal(answer.text, '');
  });

  test('a response is accepted without an answer', async () => {
    assert.equal((await session.send({ jsonrpc: '2.0', id: 1, result: {} })).status, 202);
  });

  test('an unknown method is refused with -32601', async () => {
    const answer = await session.request('tools/unlist');
    assert.equal(answer.status, 200);
    assert.equal(errorOf(answer).code, -32601);
  });

  test('an unknown tool is refused with -32602 and reaches no backend', async () => {
    const before = backend.requests.length;
    for (const name of ['echo', 'a_nothing', 'b_echo', '']) {
      const answer = await session.call(name);
      assert.equal(answer.status, 200);
      assert.equal(errorOf(answer).code, -32602);
      assert.equal(errorOf(answer).data.reason, 'unknown_name');
    }
    assert.equal(backend.requests.length, before);
  });

  test('a call without a name is refused with -32602', async () => {
    assert.equal(errorOf(await session.request('tools/call', {})).code, -32602);
    assert.equal(errorOf(await session.request('tools/call', { name: 1 })).code, -32602);
  });

  test('a cursor that is not ours is refused with -32602', async () => {
    for (const cursor of ['x', 'YQ', 1])
      assert.equal(errorOf(await session.request('tools/list', { cursor })).code, -32602);
  });
});

describe('HTTP', () => {
  test('PUT is 405 and tells what is allowed', async () => {
    const answer = await answerOf(await fetch(running.url, { method: 'PUT', body: '{}' }));
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST, GET, DELETE, OPTIONS');
  });

  test('GET opens a stream of a session, and nothing else', async () => {
    const open = (headers: Record<string, string>) => fetch(running.url, { headers });
    assert.equal((await open({ accept: 'text/html', 'mcp-session-id': session.id })).status, 406);
    assert.equal((await open({ accept: 'text/event-stream' })).status, 400);
    assert.equal((await open({ accept: 'text/event-stream', 'mcp-session-id': 'nobody' })).status, 404);
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => open({ accept: 'text/event-stream', 'mcp-session-id': session.id })),
    );
    for (const stream of streams) assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    const fifth = await answerOf(await open({ accept: 'text/event-stream', 'mcp-session-id': session.id }));
    assert.equal(fifth.status, 429);
    assert.equal(fifth.headers.get('retry-after'), '10');
    assert.equal(errorOf(fifth).data.reason, 'busy');
    for (const stream of streams) await stream.body?.cancel();
  });

  test('the endpoint answers at / and /mcp/ too', async () => {
    assert.equal((await post(new URL('/', running.url).href, INITIALIZE)).status, 200);
    assert.equal((await post(`${running.url}?x=1`, INITIALIZE)).status, 200);
    assert.equal((await post(`${running.url}/`, INITIALIZE)).status, 200);
  });

  test('any other path is 404', async () => {
    const { status, json } = await post(new URL('/mcp2', running.url).href, INITIALIZE);
    assert.equal(status, 404);
    const { error, correlationId } = json as Record<string, string>;
    assert.equal(error, 'not_found');
    assert.match(correlationId ?? '', /^[0-9a-f-]{36}$/);
  });

  test('/health is open', async () => {
    assert.deepEqual(await (await fetch(new URL('/health', running.url))).json(), { status: 'ok' });
  });
});

describe('Host and Origin', () => {
  test('a foreign Host is refused with 403 and the remedy', async () => {
    const { status, body } = await postAs(running.url, INITIALIZE, { host: 'evil.example.com' });
    assert.equal(status, 403);
    assert.match(body, /extensions\.allowedHosts/);
  });

  test('a listed Host is served', async () => {
    assert.equal((await postAs(running.url, INITIALIZE, { host: 'tools.example.com' })).status, 200);
  });

  test('a foreign Origin is refused with 403, without CORS headers', async () => {
    const answer = await post(running.url, INITIALIZE, { origin: 'https://evil.example.com' });
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  test('an allowed Origin gets CORS answers, also on refusals', async () => {
    const origin = 'https://app.example.com';
    const answer = await post(running.url, INITIALIZE, { origin });
    assert.equal(answer.headers.get('access-control-allow-origin'), origin);
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /Mcp-Session-Id/);
    const refused = await post(running.url, '{', { origin });
    assert.equal(refused.headers.get('access-control-allow-origin'), origin);
  });

  test('a preflight is answered', async () => {
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const answer = await fetch(running.url, { method: 'OPTIONS', headers });
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get('access-control-allow-headers') ?? '', /mcp-session-id/);
    assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/);
  });

  test('a preflight allows the headers that repeat arguments of a tool, and no others', async () => {
    const asked = 'content-type,mcp-param-region, Mcp-Param-user_id,mcp-param-,mcp-param-a(b),x-other';
    const headers = { origin: 'https://app.example.com', 'access-control-request-headers': asked };
    const answer = await fetch(running.url, { method: 'OPTIONS', headers });
    const allowed = (answer.headers.get('access-control-allow-headers') ?? '').split(', ');
    assert.deepEqual(allowed.slice(-3), ['mcp-session-id', 'mcp-param-region', 'mcp-param-user_id']);
  });
});
