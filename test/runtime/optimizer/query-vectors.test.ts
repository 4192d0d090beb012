import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { EmbeddingService } from '../../../runtime/optimizer/embeddings/embedding-service.ts';
import { QueryVectors } from '../../../runtime/optimizer/embeddings/query-vectors.ts';
import { startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const start = async (t: TestContext) => {
  const server = await startEmbeddingServer();
  t.after(() => server.close());
  const clock = frozenClock();
  const service = new EmbeddingService(
    { url: server.url, model: undefined },
    {
      fetch: async ({ url, method = 'GET', headers = {}, body }) => {
        const response = await fetch(url, { method, headers: { ...headers }, ...(body && { body: body.toString() }) });
        return { status: response.status, headers: {}, body: Buffer.from(await response.arrayBuffer()) };
      },
      apiKey: async () => undefined,
      steadyNow: () => 0,
      clock,
      random: () => 0,
      log: { info: () => {}, warn: () => {} },
      onAsked: () => {},
    },
  );
  return { server, queries: new QueryVectors({ service, clock, steadyNow: () => 0, onConnected: () => {} }) };
};

test('whether another caller has asked the same is not shown by the time of an answer: each asks the service', async (t) => {
  const { server, queries } = await start(t);
  for (const asker of ['alice', 'alice', 'bob', 'alice']) await queries.vectorOf('rain', asker);
  assert.deepEqual(server.texts(), ['rain', 'rain']);
});

test('nor while the other one waits still; a caller who asks twice at one time asks once', async (t) => {
  const { server, queries } = await start(t);
  await Promise.all(['alice', 'bob', 'alice'].map((asker) => queries.vectorOf('rain', asker)));
  assert.deepEqual(server.texts(), ['rain', 'rain']);
});
