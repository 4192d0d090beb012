import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectEmbeddings, type ConnectedService } from '../../../runtime/optimizer/embeddings/embedding-client.ts';
import { EmbeddingError } from '../../../runtime/optimizer/embeddings/embedding-error.ts';
import {
  type EmbeddingServer,
  type EmbeddingServerOptions,
  meaningOf,
  startEmbeddingServer,
} from '../../fixtures/embedding-server.ts';

/** A service that was connected, and its server. */
const start = async (
  t: TestContext,
  options: EmbeddingServerOptions,
): Promise<{ readonly server: EmbeddingServer; readonly service: ConnectedService }> => {
  const server = await startEmbeddingServer(options);
  t.after(() => server.close());
  const service = await connectEmbeddings(
    { url: server.url, model: undefined },
    {
      fetch: async ({ url, method = 'GET', headers = {}, body }) => {
        const response = await fetch(url, { method, headers: { ...headers }, ...(body && { body: body.toString() }) });
        return { status: response.status, headers: {}, body: Buffer.from(await response.arrayBuffer()) };
      },
      apiKey: async () => undefined,
      steadyNow: () => 0,
    },
  );
  return { server, service };
};

const vectorsOf = (texts: readonly string[]): readonly Float32Array[] =>
  texts.map((text) => Float32Array.from(meaningOf(text)));

test('an answer that has other arrays beside the vectors is read', async (t) => {
  const { service } = await start(t, {
    protocol: 'openai',
    on: (response, { texts }) => {
      const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: meaningOf(text), spans: [] }));
      response.end(JSON.stringify({ model: 'm[1]', warnings: [], data, usage: { prompt_tokens_details: [1, 2] } }));
      return true;
    },
  });
  const texts = ['rain', 'letter', 'folder'];
  assert.deepEqual(await service.embed(texts), vectorsOf(texts));
});
