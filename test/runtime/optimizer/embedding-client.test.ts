import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connectEmbeddings, type ConnectedService } from '../../../runtime/optimizer/embeddings/embedding-client.ts';
import { EmbeddingError } from '../../../runtime/optimizer/embeddings/embedding-error.ts';
import {
  type EmbeddingServer,
  type EmbeddingServerOptions,
  meaningOf,
  PROBE,
  startEmbeddingServer,
} from '../../fixtures/embedding-server.ts';
import { plainFetch } from '../../fixtures/embedding-service.ts';

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
      fetch: plainFetch,
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

/** Refuses more than one text, and names no bound. */
const ONE_TEXT: EmbeddingServerOptions = {
  protocol: 'openai',
  on: (response, { texts }) => {
    if (texts.length === 1) return false;
    response.writeHead(400).end();
    return true;
  },
};

test('a service that takes one text at a time and does not say so is sent one at a time', async (t) => {
  const { service, server } = await start(t, ONE_TEXT);
  assert.deepEqual(await service.embed(['rain']), vectorsOf(['rain']));
  const before = server.asked.length;
  const texts = ['letter', 'folder', 'bug'];
  assert.deepEqual(await service.embed(texts), vectorsOf(texts));
  assert.deepEqual(
    server.asked.slice(before).map((asked) => asked.texts),
    [['letter'], ['folder'], ['bug'], [PROBE]],
  );
});

test('a service that takes one text at a time shows another model by its next answer', async (t) => {
  const { service, server } = await start(t, ONE_TEXT);
  server.set({ ...ONE_TEXT, vectorOf: () => [1, 0, 0, 0, 0] });
  await assert.rejects(service.embed(['rain']), /another model/);
});

test('a text that a service refuses alone is refused, and the others are sent together as before', async (t) => {
  const { service, server } = await start(t, {
    on: (response, { texts }) => {
      if (!texts.includes('too long')) return false;
      response.writeHead(413).end();
      return true;
    },
  });
  await assert.rejects(service.embed(['too long']), (error) => error instanceof EmbeddingError && error.isOfTexts);
  await service.embed(['rain', 'letter']);
  assert.deepEqual(server.asked.at(-1)?.texts, ['rain', 'letter', PROBE]);
});
