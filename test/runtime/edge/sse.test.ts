import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { WholeReply } from '../../../runtime/call/reply.ts';
import { SseConnections } from '../../../runtime/edge/index.ts';
import type { Running } from '../../../runtime/start.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { userOf } from '../../fixtures/callers.ts';
import { type FakeStream, fakeStream } from '../../fixtures/fake-stream.ts';
import { openSse } from '../../fixtures/old-client.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { covers } from '../../requirements.ts';

const ANYBODY: Caller = { kind: 'anonymous' };

let backend: FixtureBackend;
let running: Running;
let client: Client;
let url: URL;
beforeEach(async () => {
  backend = await startBackend({ tools: ['echo'] });
  running = await startRuntime(configFile({ a: backend.url }));
  url = new URL('/sse', running.url);
  client = new Client({ name: 'old', version: '1' });
});
afterEach(async () => {
  await client.close();
  await running.stop();
  await backend.close();
});

covers('endpoints.mcp.sse');
describe('a client of HTTP+SSE', () => {
  test('lists and calls tools', async () => {
    await client.connect(new SSEClientTransport(url));
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['a_echo'],
    );
    const { content } = await client.callTool({ name: 'a_echo', arguments: { x: 1 } });
    assert.deepEqual(content, [{ type: 'text', text: 'echo {"x":1}' }]);
    await assert.rejects(client.callTool({ name: 'nothing' }), /unknown/);
  });

  test('is notified of changed lists on the same stream', async () => {
    await client.connect(new SSEClientTransport(url));
    await client.listTools();
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    running.reload(configFile({ b: backend.url }));
    await changed;
  });

  test('ends its session, and those at the backends, with its stream', async () => {
    await client.connect(new SSEClientTransport(url));
    await client.callTool({ name: 'a_echo' });
    assert.equal(backend.sessions.size, 2);
    await client.close();
    await backend.received(({ http }) => http === 'DELETE');
    assert.equal(backend.sessions.size, 1);
  });
});

describe('HTTP+SSE', () => {
  const opened = async () => {
    const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { value = '' } = (await reader?.read()) ?? {};
    return { first: value, reader, close: () => reader?.cancel() };
  };

  test('begins with the address to POST to, relative to that of the stream', async () => {
    const { first, close } = await opened();
    assert.match(first, /^event: endpoint\ndata: messages\?sessionId=[\w-]{43}\n\n$/);
    await close();
  });

  test('takes a message with 202 and answers on the stream', async () => {
    const { first, reader, close } = await opened();
    const address = new URL(/data: (\S+)/.exec(first)?.[1] ?? '', url).href;
    const taken = await post(address, INITIALIZE);
    assert.deepEqual([taken.status, taken.text], [202, '']);
    const { value } = (await reader?.read()) ?? {};
    assert.match(value ?? '', /^data: \{"jsonrpc":"2\.0","id":0,"result":\{"protocolVersion":"2025-11-25"/);
    await close();
  });

  test('does not serve 2026-07-28, and says so as an older server would', async () => {
    const { first, reader, close } = await opened();
    const address = new URL(/data: (\S+)/.exec(first)?.[1] ?? '', url).href;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    for (const [method, params] of [
      ['server/discover', { _meta }],
      ['tools/call', { _meta, name: 'a_echo', arguments: {} }],
      ['subscriptions/listen', { _meta, notifications: {} }],
    ] as const) {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
      assert.equal((await post(address, { jsonrpc: '2.0', id: method, method, params }, headers)).status, 202);
      const { value = '' } = (await reader?.read()) ?? {};
      const { id, error } = JSON.parse(value.replace(/^data: /, '')) as { id: string; error: { code: number } };
      assert.deepEqual([id, error.code], [method, -32_000]);
    }
    const told = { jsonrpc: '2.0', method: 'notifications/anything', params: { _meta } };
    assert.equal((await post(address, told)).status, 202);
    await post(address, { jsonrpc: '2.0', id: 'next', method: 'server/discover', params: { _meta } });
    assert.match((await reader?.read())?.value ?? '', /"id":"next"/);
    assert.equal(backend.requests.filter(({ method }) => method === 'tools/call').length, 0);
    await close();
  });

  test('refuses what is no message on the POST itself', async () => {
    const { address, close } = await openSse(running.url);
    for (const [body, code] of [
      ['{not json', -32_700],
      ['{"foo":1}', -32_600],
      ['[]', -32_600],
    ] as const) {
      const { status, json } = await post(address, body);
      assert.equal(status, 400);
      assert.equal((json as { error: { code: number } }).error.code, code);
    }
    close();
  });

  test('takes one initialize on a connection; another is refused', async () => {
    const { address, text, heard, close } = await openSse(running.url);
    await Promise.all([post(address, INITIALIZE), post(address, { ...INITIALIZE, id: 'second' })]);
    await heard('this connection is initialized already');
    await heard('"protocolVersion"');
    await post(address, { ...INITIALIZE, id: 'third' });
    await heard('"third"');
    assert.equal(text().split('"protocolVersion"').length, 2);
    close();
  });

  test('knows no other addresses', async () => {
    for (const path of ['/messages', '/messages?sessionId=', '/messages?sessionId=x'])
      assert.equal((await post(new URL(path, running.url).href, INITIALIZE)).status, 404);
  });
});

describe('a message to a connection of HTTP+SSE', () => {
  const connections = new SseConnections({ newId: () => 'c', endSession: () => {}, limit: 10 });
  const messageOf = (receive: () => Promise<void>) => {
    const answers: WholeReply[] = [];
    const request = connections.streamed({
      http: 'POST',
      endpoint: 'messages',
      query: 'sessionId=c',
      headers: {},
      clientAddress: undefined,
      sessionId: undefined,
      body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
      correlationId: () => 'c',
      receive,
      send: () => false,
      backlog: () => undefined,
      onGone: () => {},
      answer: (reply) => answers.push(reply),
    });
    return { request, answers };
  };
  const open = (): FakeStream => {
    const client = fakeStream();
    connections.open(userOf('owner'), undefined).open(client.stream);
    return client;
  };

  test('is taken from its owner', async () => {
    const { close } = open();
    const { request, answers } = messageOf(async () => {});
    await request.receive(userOf('owner'));
    assert.deepEqual(answers, [{ kind: 'whole', status: 202 }]);
    close();
  });

  test('is not even read from another caller', async () => {
    const { close } = open();
    const { request, answers } = messageOf(() => assert.fail('it is read'));
    for (const stranger of [userOf('stranger'), userOf('owner', { issuer: 'https://other.example' }), ANYBODY])
      await assert.rejects(async () => request.receive(stranger), { code: 'session_not_found' });
    assert.deepEqual(answers, []);
    close();
  });

  test('is not taken where the connection closes before it is here', async () => {
    const { close } = open();
    const { request, answers } = messageOf(async () => close());
    await assert.rejects(async () => request.receive(userOf('owner')), { code: 'session_not_found' });
    assert.deepEqual(answers, []);
  });

  test('is not taken where the connection belongs to another caller by then', async () => {
    const first = open();
    const { request, answers } = messageOf(async () => {
      first.close();
      connections.open(userOf('stranger'), undefined).open(fakeStream().stream);
    });
    await assert.rejects(async () => request.receive(userOf('owner')), { code: 'session_not_found' });
    assert.deepEqual(answers, []);
  });
});

test('a connection that has closed makes room for another, and its address is unknown', () => {
  const ended: string[] = [];
  let last = 0;
  const connections = new SseConnections({
    newId: () => `c${(last += 1)}`,
    endSession: (id) => ended.push(id),
    limit: 1,
  });
  const { stream, close } = fakeStream();
  connections.open({ kind: 'anonymous' }, undefined).open(stream);
  const initialized = { kind: 'whole', status: 200, headers: ['mcp-session-id', 'the session'] } as const;
  connections.answer({ query: 'sessionId=c1' }, initialized);
  assert.equal(connections.sessionOf('sessionId=c1'), 'the session');
  assert.throws(() => connections.open({ kind: 'anonymous' }, undefined), { code: 'overloaded' });
  close();
  assert.deepEqual(ended, ['the session']);
  assert.throws(() => connections.sessionOf('sessionId=c1'), { code: 'session_not_found' });
  connections.open({ kind: 'anonymous' }, undefined).open(fakeStream().stream);
});
