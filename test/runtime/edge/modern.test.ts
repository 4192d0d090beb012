import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { VERSION } from '../../../runtime/version.ts';
import { errorOf, resultOf } from '../../fixtures/answers.ts';
import {
  answerError,
  answerSse,
  type Exchange,
  type FixtureBackend,
  hang,
  startBackend,
  textResult,
} from '../../fixtures/backend.ts';
import { openSession, post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

let backend: FixtureBackend;
let running: Running;
before(async () => {
  backend = await startBackend({
    tools: ['echo'],
    lists: { prompts: ['{"name":"hi"}'], resources: ['{"uri":"a://é","name":"1"}'] },
  });
  running = await startRuntime(configFile({ a: backend.url }));
});
after(async () => {
  await running.stop();
  await backend.close();
});

const REVISION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const META = { [REVISION]: '2026-07-28', [CAPABILITIES]: {} };
const SERVER_INFO = { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: VERSION } };

const message = (method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params: { _meta: META, ...params },
});

/** As a proper client sends it, except for what `headers` changes. */
const send = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  post(running.url, message(method, params), { ...headersFor(method, params), ...headers });

const headersFor = (method: string, params: Record<string, unknown>): Record<string, string> => {
  const name = params['name'] ?? params['uri'];
  const isPlain = typeof name === 'string' && /^[\x21-\x7e]*$/.test(name);
  const encoded = isPlain ? name : `=?base64?${Buffer.from(String(name)).toString('base64')}?=`;
  return {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': encoded }),
  };
};

describe('a client of 2026-07-28', () => {
  test('discovers what is served, without a handshake', async () => {
    const { instructions, ...rest } = resultOf(await send('server/discover'));
    assert.match(String(instructions), /joins the tools of: a/);
    assert.deepEqual(rest, {
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
      ttlMs: 5000,
      cacheScope: 'public',
      _meta: SERVER_INFO,
    });
  });

  test('is given lists that say how long they may be kept', async () => {
    assert.deepEqual(resultOf(await send('prompts/list')), {
      resultType: 'complete',
      ttlMs: 5000,
      cacheScope: 'public',
      _meta: SERVER_INFO,
      prompts: [{ name: 'a_hi' }],
    });
  });

  test('calls a tool of an older backend, which sees nothing of the newer revision', async () => {
    const params = { name: 'a_echo', arguments: { x: 1 }, _meta: { ...META, traceparent: '00-1' } };
    assert.deepEqual(resultOf(await send('tools/call', params)), {
      resultType: 'complete',
      _meta: SERVER_INFO,
      content: [{ type: 'text', text: 'echo {"x":1}' }],
    });
    const seen = backend.requests.findLast(({ method }) => method === 'tools/call');
    assert.deepEqual(seen?.params, { name: 'echo', arguments: { x: 1 }, _meta: { traceparent: '00-1' } });
  });

  test('sends as much as a client with a session', async () => {
    const text = 'x'.repeat(1_000_000);
    const { content } = resultOf(await send('tools/call', { name: 'a_echo', arguments: { text } }));
    assert.match(JSON.stringify(content), /x{1000000}/);
  });

  test('leaves no session behind', async () => {
    await send('tools/call', { name: 'a_echo' });
    // That of the catalogue stays.
    while (backend.sessions.size > 1) await new Promise((resolve) => setImmediate(resolve));
  });

  test('reads a resource whose name does not fit into a header as it is', async () => {
    const { ttlMs, cacheScope, contents } = resultOf(await send('resources/read', { uri: 'a://é' }));
    assert.deepEqual({ ttlMs, cacheScope }, { ttlMs: 0, cacheScope: 'private' });
    assert.deepEqual(contents, [{ uri: 'a://é', text: 'the resource' }]);
  });

  test('gets progress, and log messages only when it asks for them', async () => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}';
    const on = ({ recorded }: { recorded: { method: string | undefined } }) =>
      recorded.method === 'tools/call' ? answerSse(textResult('done'), [progress, log]) : undefined;
    backend.set({ tools: ['echo'], on });
    const quiet = await send('tools/call', { name: 'a_echo' });
    assert.equal(quiet.messages.length, 2);
    const loud = await send('tools/call', {
      name: 'a_echo',
      _meta: { ...META, 'io.modelcontextprotocol/logLevel': 'warning' },
    });
    assert.equal(loud.messages.length, 3);
    backend.set({ tools: ['echo'] });
  });

  test('cancels by going away', async () => {
    backend.set({ tools: ['echo'], on: ({ recorded }) => (recorded.method === 'tools/call' ? hang : undefined) });
    const gone = new AbortController();
    const answer = fetch(running.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersFor('tools/call', { name: 'a_echo' }) },
      body: JSON.stringify(message('tools/call', { name: 'a_echo' })),
      signal: gone.signal,
    });
    const before = backend.requests.length;
    const { body } = await backend.received(
      (recorded) => backend.requests.indexOf(recorded) >= before && recorded.method === 'tools/call',
    );
    gone.abort();
    await assert.rejects(answer);
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.equal(told.params['requestId'], (JSON.parse(body) as { id: unknown }).id);
    backend.set({ tools: ['echo'] });
  });

  test('that has failed is answered in the form of its revision', async () => {
    backend.set({
      tools: ['echo'],
      on: ({ recorded }) => (recorded.method === 'tools/call' ? ({ response }) => void response.destroy() : undefined),
    });
    const { isError, resultType, _meta } = resultOf(await send('tools/call', { name: 'a_echo' }));
    assert.deepEqual({ isError, resultType }, { isError: true, resultType: 'complete' });
    const key = 'io.modelcontextprotocol/serverInfo';
    assert.deepEqual((_meta as Record<string, unknown>)[key], SERVER_INFO[key]);
    backend.set({ tools: ['echo'] });
  });
});

describe('the error of a backend, for a client of 2026-07-28,', () => {
  for (const [given, status, code] of [
    [-32_020, 400, -32_020],
    [-32_021, 400, -32_021],
    [-32_022, 400, -32_022],
    [-32_023, 200, -32_023],
    [-32_050, 200, -32_050],
    [-32_099, 200, -32_099],
    [-32_042, 200, -32_042],
    [-32_002, 200, -32_602],
    [7, 200, 7],
  ] as const)
    test(`${given} is HTTP ${status}`, async () => {
      const error = `{"code":${given},"message":"mine","data":{"big":12345678901234567890}}`;
      const on = ({ recorded }: Exchange) => (recorded.method === 'tools/call' ? answerError(error) : undefined);
      backend.set({ tools: ['echo'], on });
      const answer = await send('tools/call', { name: 'a_echo' });
      assert.equal(answer.status, status);
      assert.equal(
        answer.text,
        `{"jsonrpc":"2.0","id":7,"error":${error.replace(`"code":${given}`, `"code":${code}`)}}`,
      );
      backend.set({ tools: ['echo'] });
    });
});

describe('a notification of 2026-07-28', () => {
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  const withMeta = (meta: object) => ({ ...cancelled, params: { requestId: 7, _meta: meta } });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' };
  const taken: readonly (readonly [string, object, Record<string, string>])[] = [
    ['as it should be', withMeta(META), headers],
    ['without _meta', cancelled, headers],
    ['without params', { jsonrpc: '2.0', method: 'notifications/cancelled' }, headers],
    ['without the header of its method', cancelled, { 'mcp-protocol-version': '2026-07-28' }],
    ['without capabilities', withMeta({ [REVISION]: '2026-07-28' }), headers],
    ['without any header', withMeta(META), {}],
  ];
  for (const [how, body, sent] of taken)
    test(`is taken ${how}`, async () => {
      const answer = await post(running.url, body, sent);
      assert.deepEqual([answer.status, answer.text], [202, '']);
    });

  for (const [header, value] of Object.entries({ 'mcp-method': 'tools/call', 'mcp-protocol-version': '2025-11-25' }))
    test(`is refused where ${header} says something else than the body`, async () => {
      const answer = await post(running.url, withMeta(META), { ...headers, [header]: value });
      assert.deepEqual([answer.status, errorOf(answer).code], [400, -32020]);
    });
});

describe('refused in 2026-07-28:', () => {
  const call = { name: 'a_echo' };
  const unknownRevision = () =>
    send('tools/list', { _meta: { ...META, [REVISION]: '2027-01-01' } }, { 'mcp-protocol-version': '2027-01-01' });
  const rows: readonly (readonly [string, () => Promise<RawAnswer>, number, number])[] = [
    ['no protocol version header', () => send('tools/list', {}, { 'mcp-protocol-version': '' }), 400, -32020],
    [
      'another protocol version header',
      () => send('tools/list', {}, { 'mcp-protocol-version': '2027-01-01' }),
      400,
      -32020,
    ],
    ['no method header', () => send('tools/list', {}, { 'mcp-method': '' }), 400, -32020],
    ['another method header', () => send('tools/list', {}, { 'mcp-method': 'tools/call' }), 400, -32020],
    ['no name header', () => send('tools/call', call, { 'mcp-name': '' }), 400, -32020],
    ['another name header', () => send('tools/call', call, { 'mcp-name': 'b_echo' }), 400, -32020],
    ['a header without _meta', () => send('tools/list', { _meta: {} }), 400, -32602],
    ['no capabilities', () => send('tools/list', { _meta: { [REVISION]: '2026-07-28' } }), 400, -32602],
    ['discovery without _meta', () => send('server/discover', { _meta: {} }), 400, -32602],
    ['an unknown revision', unknownRevision, 400, -32022],
    ['an unknown method', () => send('tools/unlist'), 404, -32601],
    ['what only older revisions have: ping', () => send('ping'), 404, -32601],
    ['… initialize', () => send('initialize'), 404, -32601],
    ['… logging/setLevel', () => send('logging/setLevel', { level: 'info' }), 404, -32601],
    ['… resources/subscribe', () => send('resources/subscribe', { uri: 'a://1' }, { 'mcp-name': '' }), 404, -32601],
    ['an unknown tool', () => send('tools/call', { name: 'a_nothing' }), 200, -32602],
    ['a tool without a name', () => send('tools/call', {}, { 'mcp-name': 'x' }), 200, -32602],
  ];
  for (const [what, ask, status, code] of rows)
    test(what, async () => {
      const answer = await ask();
      assert.deepEqual([answer.status, errorOf(answer).code], [status, code]);
      assert.equal((answer.json as { id: number }).id, 7);
    });

  for (const method of ['GET', 'DELETE'])
    test(method, async () => {
      const headers = { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' };
      for (const more of [{}, { 'mcp-session-id': (await openSession(running.url)).id }]) {
        const answer = await fetch(running.url, { method, headers: { ...headers, ...more } });
        assert.equal(answer.status, 405);
        assert.equal(answer.headers.get('allow'), 'POST, OPTIONS');
        await answer.body?.cancel();
      }
    });

  test('an unknown revision is answered with those that are served', async () => {
    const { data } = errorOf(await unknownRevision());
    assert.equal(data['requested'], '2027-01-01');
    assert.deepEqual((data['supported'] as string[])[0], '2026-07-28');
  });
});

describe('headers of another revision', () => {
  const headers = { ...headersFor('tools/list', {}), 'mcp-protocol-version': '2025-11-25' };
  /** Of a request whose header is older than its body, and of one whose header is newer than its session. */
  const statusesAt = async (url: string): Promise<readonly number[]> => {
    const session = await openSession(url);
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const newer = { 'mcp-protocol-version': '2026-07-28' };
    const inSession = await session.send(list, newer);
    const end = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session.id, ...newer } });
    return [(await post(url, message('tools/list'), headers)).status, inSession.status, end.status];
  };

  test('are refused', async () => {
    assert.deepEqual(await statusesAt(running.url), [400, 400, 405]);
  });

  test('are taken from clients that send such, where that is wanted', async () => {
    const tolerant = await startRuntime(configFile({ a: backend.url }, { extensions: { tolerateHeaders: true } }));
    assert.deepEqual(await statusesAt(tolerant.url), [200, 200, 204]);
    await tolerant.stop();
  });
});
