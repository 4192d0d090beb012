import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { openShared, startReplica } from '../../fixtures/replicas.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { type SseBridge, startSseBridge } from '../../fixtures/sse-bridge.ts';

describe('a session that replicas share, with a backend of HTTP+SSE', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let bridge: SseBridge;

  before(async () => {
    redis = await startRedis();
    backend = await startBackend({ tools: ['echo'] });
    bridge = await startSseBridge(backend.url);
  });
  after(async () => {
    await Promise.all([redis.stop(), bridge.close(), backend.close()]);
  });

  test('has a stream at each replica that it calls at, and they end with it', async () => {
    const more = { sessionStorage: { provider: 'kvstore', address: redis.address } };
    const files = configFile({ a: bridge.url }, more, 'sse');
    const [one, two] = await Promise.all([startReplica(files), startReplica(files)]);
    const session = await openShared(one.url);
    for (const [id, { url }] of [one, two, one, two].entries())
      assert.match((await session.call(url, id, 'a_echo')).text, /echo/);
    const used = backend.requests.filter(({ method }) => method === 'tools/call');
    assert.equal(new Set(used.map(({ headers }) => headers['mcp-session-id'])).size, 2);
    // Those of the gateway's own, and those of the client.
    assert.equal(bridge.streams.size, 4);
    await session.end(two.url);
    while (bridge.streams.size > 2) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([one.stop(), two.stop()]);
    while (bridge.streams.size > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
