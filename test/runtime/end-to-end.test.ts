import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { VERSION } from '../../runtime/version.ts';
import { count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openSession, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

describe('one endpoint over two backends', () => {
  let a: FixtureBackend;
  let b: FixtureBackend;
  let running: Running;
  before(async () => {
    [a, b] = await Promise.all([
      startBackend({ tools: ['echo', 'add'] }),
      startBackend({ tools: ['echo'], answers: 'sse' }),
    ]);
    running = await startRuntime(configFile({ a: a.url, b: b.url }));
  });
  after(async () => {
    await running.stop();
    await Promise.all([a.close(), b.close()]);
  });

  covers(
    'endpoints.mcp.single-endpoint',
    'aggregation.conflict.prefix',
    'aggregation.prefix-format.default',
    'crd.config.aggregation.conflict-resolution-default',
    'aggregation.filter.absent-all',
  );
  test('lists the tools of both under their prefixes', async () => {
    const session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_add', 'a_echo', 'b_echo']);
  });

  covers(
    'aggregation.routing.to-owner',
    'aggregation.conflict.prefix.routes-by-prefixed-name',
    'aggregation.static.url-used',
  );
  test('a call reaches only the owner, under the own name of the tool', async () => {
    const session = await openSession(running.url);
    const answer = await session.call('b_echo', { n: 1 });
    assert.deepEqual(answer.json, {
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: 'echo {"n":1}' }] },
    });
    assert.equal(count(a, 'tools/call'), 0);
    assert.equal(count(b, 'tools/call'), 1);
  });

  covers('aggregation.static.type-entry', 'aggregation.static.type-empty');
  test('the type of a backend changes nothing about where its calls go', async () => {
    const backends = [
      { name: 'x', url: a.url, transport: 'streamable-http', type: 'entry' },
      { name: 'y', url: b.url, transport: 'streamable-http', type: '' },
    ];
    const typed = await startRuntime(configFile({}, { backends }));
    const session = await openSession(typed.url);
    const before = [count(a, 'tools/call'), count(b, 'tools/call')];
    await session.toolNames();
    await session.call('x_echo');
    await session.call('y_echo');
    assert.deepEqual(
      [count(a, 'tools/call'), count(b, 'tools/call')],
      before.map((calls) => calls + 1),
    );
    await typed.stop();
  });

  covers('session.provider.memory');
  test('sessions in memory need no store and are unknown after a restart', async () => {
    const files = configFile({ a: a.url }, { sessionStorage: { provider: 'memory' } });
    const first = await startRuntime(files);
    const session = await openSession(first.url);
    assert.equal((await session.request('ping')).status, 200);
    await first.stop();
    const second = await startRuntime(files, { port: Number(new URL(first.url).port) });
    assert.equal((await session.request('ping')).status, 404);
    await second.stop();
  });

  test('a warm call is exactly one request to the backend', async () => {
    const session = await openSession(running.url);
    await session.call('a_echo');
    const before = a.requests.length;
    await session.call('a_echo');
    await session.call('a_add');
    assert.deepEqual(
      a.requests.slice(before).map(({ method }) => method),
      ['tools/call', 'tools/call'],
    );
  });

  covers('endpoints.mcp.one-server-identity');
  test('has one identity of its own for clients of every revision, whichever backend answers', async () => {
    const own = { name: 'test', version: VERSION };
    const { initialize, call } = await openSession(running.url);
    const { result } = initialize.json as { result: { serverInfo: object; instructions: string } };
    assert.deepEqual([initialize.messages, result.serverInfo], [[], own]);
    assert.match(result.instructions, /^This server joins the tools of: a, b\./);
    assert.deepEqual([(await call('a_echo')).status, (await call('b_echo')).status], [200, 200]);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    for (const [method, name] of [
      ['server/discover'],
      ['tools/list'],
      ['tools/call', 'a_echo'],
      ['tools/call', 'b_echo'],
    ]) {
      const params = { _meta: meta, ...(name !== undefined && { name, arguments: {} }) };
      const { json } = await post(
        running.url,
        { jsonrpc: '2.0', id: 1, method, params },
        { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method ?? '', 'mcp-name': name ?? '' },
      );
      const answer = (json as { result: { _meta: object } }).result._meta;
      assert.deepEqual(answer, { 'io.modelcontextprotocol/serverInfo': own }, `${method} ${name}`);
    }
  });
});
