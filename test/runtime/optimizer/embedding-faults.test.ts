import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../cluster/until.ts';
import { type EmbeddingServerOptions, meaningOf, startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { embedded, namesOf, startOptimized, toolText } from '../../fixtures/optimized.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';

const TOOLS = [toolText('forecast', 'Tells the weather'), toolText('send_letter', 'Posts words to somebody')];

const start = async (
  t: TestContext,
  service: EmbeddingServerOptions,
  { tools = TOOLS, ratio = '0.5' }: { readonly tools?: readonly string[]; readonly ratio?: string } = {},
) => {
  let server = await startEmbeddingServer(service);
  const { port } = server;
  const optimizer = { embeddingService: server.url, hybridSearchSemanticRatio: ratio };
  const optimized = await startOptimized({ tools, optimizer });
  t.after(async () => {
    await server.close();
    await optimized.stop();
  });
  const restart = async () => (server = await startEmbeddingServer({ ...service, port }));
  return { ...optimized, server, restart };
};

test('a service that is killed and started again at its address is found again, after the pause', async (t) => {
  const { find, server, restart, running, clock } = await start(t, {});
  await embedded(running, 2);
  await server.close();
  const away = await find('weather');
  assert.deepEqual([namesOf(away), away.degraded], [['a_forecast'], 'embedding_service_unavailable']);
  const again = await restart();
  assert.equal((await find('weather again')).degraded, 'embedding_service_unavailable');
  clock.advance(1_000);
  const found = await find('do I need an umbrella');
  assert.deepEqual([found.tools[0]?.name, found.search, found.degraded], ['a_forecast', 'hybrid', undefined]);
  assert.deepEqual(again.texts(), ['do I need an umbrella'], 'its model is the same: the tools keep their vectors');
});

test('a service that refuses every text is left alone between two attempts', async (t) => {
  const { find, server } = await start(t, {
    on: (response) => {
      response.writeHead(400).end();
      return true;
    },
  });
  await until('the failure', async () =>
    (await find('weather')).degraded === 'embedding_service_unavailable' ? true : undefined,
  );
  const asked = server.asked.length;
  await find('weather again');
  assert.equal(server.asked.length, asked);
});

test('a service that is given another model of the same name and dimension: no two models are compared', async (t) => {
  const { find, server, clock, running } = await start(t, {});
  await embedded(running, 2);
  const before = server.texts().length;
  // The first and the last number of each vector are exchanged.
  server.set({ vectorOf: (text) => meaningOf(text).toReversed() });
  assert.equal((await find('do I need an umbrella')).degraded, 'embedding_service_unavailable');
  clock.advance(1_000);
  assert.equal((await find('an umbrella')).degraded, 'embeddings_incomplete');
  await until('the vectors', async () => (server.texts().length >= before + 4 ? true : undefined), { intervalMs: 5 });
  await embedded(running, 2);
  const found = await find('do I need an umbrella at all');
  assert.deepEqual([found.tools[0]?.name, found.search, found.degraded], ['a_forecast', 'hybrid', undefined]);
});

test('another timeout takes effect at once, and no tool loses its vector', async (t) => {
  const { find, server, clock, running, backend } = await start(t, {});
  await embedded(running, 2);
  const before = server.texts().length;
  const optimizer = { embeddingService: server.url, embeddingServiceTimeout: '2s' };
  const extensions = { optimizer: { queryTimeout: '5s' } };
  running.reload(configFile({ a: backend.url }, { optimizer, extensions }));
  server.set({ on: () => true });
  const finding = find('do I need an umbrella');
  await server.received(({ texts }) => texts[0] === 'do I need an umbrella');
  assert.deepEqual(await scraped(running, 'vmcp_optimizer_index_vectors'), ['vmcp_optimizer_index_vectors 2']);
  clock.advance(2_000);
  assert.match((await finding).degraded ?? '', /^embedding_service_/);
  await until('the failure', async () => {
    const lines = await scraped(running, 'vmcp_optimizer_embedding_duration_seconds_count');
    return lines.some((line) => /query.*timeout"\} 1$/.test(line)) ? true : undefined;
  });
  assert.equal(server.texts().length, before + 1);
});

test('an answer with another number of vectors than of texts gives no tool a vector', async (t) => {
  const { running, server, clock } = await start(t, {
    on: (response, { texts }) => {
      if (texts.length === 1) return false;
      response.writeHead(200).end('[[1,0,0,0,0]]');
      return true;
    },
  });
  await until('the failure', async () => {
    const lines = await scraped(running, 'vmcp_optimizer_embedding_duration_seconds_count');
    return lines.some((line) => /tools.*invalid"\} 1$/.test(line)) ? true : undefined;
  });
  assert.deepEqual(await scraped(running, 'vmcp_optimizer_index_vectors'), ['vmcp_optimizer_index_vectors 0']);
  server.set({});
  clock.advance(1_000);
  await embedded(running, 2);
});

test('a tool whose text is refused is found by its words, even where meaning alone counts', async (t) => {
  const { find, running } = await start(
    t,
    {
      on: (response, { texts }) => {
        if (!texts.some((text) => text.includes('send_letter'))) return false;
        response.writeHead(422).end();
        return true;
      },
    },
    { ratio: '1' },
  );
  await until('the refusal', async () => {
    const [line] = await scraped(running, 'vmcp_optimizer_index_refused');
    return line === 'vmcp_optimizer_index_refused 1' ? true : undefined;
  });
  const found = await find('posts');
  assert.ok(namesOf(found).includes('a_send_letter'));
  assert.deepEqual([found.search, found.degraded], ['hybrid', 'embeddings_refused']);
  // Of a tool with a vector words still do not count.
  assert.equal((await find('somebody tells: umbrella')).tools[0]?.name, 'a_forecast');
});
