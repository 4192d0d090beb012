import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VERSION } from '../../../runtime/version.ts';
import { covers } from '../../requirements.ts';
import { errorOf } from '../../fixtures/answers.ts';
import { count } from '../../fixtures/backend.ts';
import { INITIALIZE, openSession, post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { startEndpoint } from './endpoint-under-test.ts';

const { backend, running, session } = await startEndpoint();

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

  covers('endpoints.mcp.streamable-http');
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

  test('that declares more than a client needs is refused', async () => {
    const declare = (length: number): Promise<RawAnswer> => {
      const capabilities = { experimental: { x: 'y'.repeat(length) } };
      return post(running.url, { ...INITIALIZE, params: { ...INITIALIZE.params, capabilities } });
    };
    assert.equal(errorOf(await declare(4_096)).code, -32602);
    assert.equal((await declare(4_000)).status, 200);
  });
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
    const before = count(backend, 'tools/call');
    for (const name of ['echo', 'a_nothing', 'b_echo', '']) {
      const answer = await session.call(name);
      assert.equal(answer.status, 200);
      assert.equal(errorOf(answer).code, -32602);
      assert.equal(errorOf(answer).data.reason, 'unknown_name');
    }
    assert.equal(count(backend, 'tools/call'), before);
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
