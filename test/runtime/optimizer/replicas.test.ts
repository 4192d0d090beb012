import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { type EmbeddingServerOptions, meaningOf, startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { embedded, toolText } from '../../fixtures/optimized.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { startReplica } from '../../fixtures/replicas.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';

const TOOLS = Array.from({ length: 40 }, (_, index) => toolText(`tool_${index}`, `Does number ${index}`));

const filesOf = (redis: string, backend: string, optimizer: object, more: object = {}) =>
  configFile({ a: backend }, { sessionStorage: { provider: 'kvstore', address: redis }, optimizer, ...more });

describe('replicas that share a store', { skip: noRedis }, () => {
  let redis: TestRedis;
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());

  test('embed each tool once together, and so does one that starts later; another model embeds anew', async (t) => {
    const [backend, server] = await Promise.all([startBackend({ tools: TOOLS }), startEmbeddingServer()]);
    const files = filesOf(redis.address, backend.url, { embeddingService: server.url });
    const first = await startReplica(files);
    await embedded(first, TOOLS.length);
    assert.equal(server.texts().length, TOOLS.length);
    const second = await startReplica(files);
    t.after(async () => {
      await Promise.all([first.stop(), second.stop()]);
      await Promise.all([backend.close(), server.close()]);
    });
    await embedded(second, TOOLS.length);
    assert.equal(server.texts().length, TOOLS.length, 'the vectors of the store are those of the service');
    assert.match((await scraped(second, 'vmcp_optimizer_vectors_total')).join(), /source="store"} 40/);
    const [key = ''] = (await redis.command('--scan', '--pattern', '*optimizer:vectors:*')).split('\n');
    assert.ok(Number(await redis.command('strlen', key)) > 0);
    assert.ok(Number(await redis.command('ttl', key)) > 29 * 24 * 3_600);

    server.set({ model: 'another' });
    const third = await startReplica(files);
    await embedded(third, TOOLS.length);
    await third.stop();
    assert.equal(server.texts().length, 2 * TOOLS.length);
  });

  test('embed each tool once together where they start at one time', async (t) => {
    const tools = Array.from({ length: 200 }, (_, index) => toolText(`tool_${index}`, `Is number ${index} of many`));
    const slow: EmbeddingServerOptions['on'] = (response, { texts }) => {
      setTimeout(() => response.end(JSON.stringify(texts.map(meaningOf))), 20);
      return true;
    };
    const server = await startEmbeddingServer({ on: slow, model: 'of both' });
    const backend = await startBackend({ tools });
    const files = filesOf(redis.address, backend.url, { embeddingService: server.url });
    const replicas = await Promise.all([startReplica(files), startReplica(files), startReplica(files)]);
    t.after(async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await Promise.all([backend.close(), server.close()]);
    });
    await Promise.all(replicas.map((replica) => embedded(replica, tools.length)));
    assert.equal(new Set(server.texts()).size, tools.length);
    assert.equal(server.texts().length, tools.length, 'none is embedded twice');
    assert.equal(await redis.command('--scan', '--pattern', '*optimizer:vectors:claim:*'), '', 'no claim is left');
  });

  test('list a client all tools whichever of them it asks, by the name that it gave to another', async (t) => {
    const backend = await startBackend({ tools: ['t'] });
    const extensions = { optimizer: { exceptClients: ['raw'] } };
    const files = filesOf(redis.address, backend.url, {}, { extensions });
    const replicas = await Promise.all([startReplica(files), startReplica(files)]);
    t.after(async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await backend.close();
    });
    const [one, two] = replicas.map(({ url }) => url);
    const { headers } = await post(one ?? '', INITIALIZE);
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    const { text } = await post(two ?? '', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, session);
    assert.match(text, /"name":"a_t"/);
    assert.doesNotMatch(text, /find_tool/);
  });
});
