import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { until } from '../../cluster/until.ts';
import {
  type EmbeddingServerOptions,
  meaningOf,
  PROBE,
  startEmbeddingServer,
} from '../../fixtures/embedding-server.ts';
import { embedded, FEW_TOOLS, foundIn, namesOf, startOptimized, toolText } from '../../fixtures/optimized.ts';
import { configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { covers } from '../../requirements.ts';

interface Options {
  readonly service?: EmbeddingServerOptions;
  /** Keys of `config.optimizer`. */
  readonly optimizer?: object;
  readonly tools?: readonly string[];
  readonly extensions?: object;
  /** The path of the URL in the configuration. */
  readonly path?: string;
}

const start = async (
  t: TestContext,
  { service = {}, optimizer = {}, tools = FEW_TOOLS, extensions, path = '' }: Options,
) => {
  const server = await startEmbeddingServer(service);
  const embeddingService = `${server.url}${path}`;
  const more = extensions ? { extensions } : {};
  const optimized = await startOptimized({ tools, optimizer: { embeddingService, ...optimizer }, more });
  t.after(async () => {
    await server.close();
    await optimized.stop();
  });
  return { ...optimized, server, embeddingService };
};

/** Neither query nor tool has a word of the other. */
const UMBRELLA = 'do I need an umbrella';

const WITH_MEANING = [
  toolText('forecast', 'Tells the weather'),
  toolText('send_letter', 'Posts words to somebody'),
  toolText('open_ticket', 'Reports a defect'),
];

describe('tools are found by what they mean', () => {
  for (const [protocol, path, asked] of [
    ['tei', '', '/embed'],
    ['tei', '/', '/embed'],
    ['tei', '/embed', '/embed'],
    ['openai', '', '/v1/embeddings'],
    ['openai', '/v1', '/v1/embeddings'],
    ['openai', '/v1/embeddings', '/v1/embeddings'],
  ] as const) {
    covers('optimizer.embedding-service.full-base-url');
    test(`with a service of protocol ${protocol} at "${path}"`, async (t) => {
      const { find, server, running } = await start(t, { service: { protocol }, tools: WITH_MEANING, path });
      await embedded(running, 3);
      const found = await find(UMBRELLA);
      assert.deepEqual([found.search, found.degraded, found.tools[0]?.name], ['hybrid', undefined, 'a_forecast']);
      assert.deepEqual([...new Set(server.asked.map((each) => each.path))], [asked]);
      const [first] = server.asked;
      if (protocol === 'openai') assert.equal(first?.body['model'], 'stand-in');
      else assert.equal(first?.body['truncate'], true);
    });
  }

  test('of a service with several models the one that the configuration names is asked', async (t) => {
    const extensions = { optimizer: { embeddingModel: 'mine' } };
    const { server, running } = await start(t, { service: { protocol: 'openai' }, extensions });
    await embedded(running, 3);
    for (const { body } of server.asked) assert.equal(body['model'], 'mine');
  });

  test('each text once: a query that was asked before, and a tool that has not changed', async (t) => {
    const { find, server, running, backend, session } = await start(t, { tools: WITH_MEANING });
    await embedded(running, 3);
    await find(UMBRELLA);
    const before = server.texts().length;
    await find(UMBRELLA);
    assert.equal(server.texts().length, before);
    backend.set({ tools: [...WITH_MEANING.slice(0, 2), toolText('open_ticket', 'Reports a bug')] });
    // A name that is not known has the lists read again.
    await session.call('call_tool', { tool_name: 'nothing' });
    await until('the new text', async () => (server.texts().length > before ? true : undefined), { intervalMs: 5 });
    assert.match(server.texts().slice(before).join(), /^a_open_ticket\nReports a bug[^]*$/);
    assert.equal(server.texts().length, before + 1);
  });

  test('in batches as large as the service takes, and a text that it refuses costs no other its vector', async (t) => {
    const tools = Array.from({ length: 10 }, (_, index) =>
      toolText(`tool_${index}`, index === 4 ? 'BAD' : `word${index}`),
    );
    const on: EmbeddingServerOptions['on'] = (response, { texts }) => {
      if (!texts.some((text) => text.includes('BAD'))) return false;
      response.writeHead(413).end();
      return true;
    };
    const { server, running, find } = await start(t, { tools, service: { maxBatch: 4, on } });
    await embedded(running, 9);
    assert.ok(server.asked.every(({ texts }) => texts.length <= 4));
    await until('the refusal', async () => {
      const [line] = await scraped(running, 'vmcp_optimizer_index_refused');
      return line === 'vmcp_optimizer_index_refused 1' ? true : undefined;
    });
    const found = await find('word7');
    assert.deepEqual([found.search, found.degraded], ['hybrid', 'embeddings_refused']);
  });
});

describe('the ratio', () => {
  covers('optimizer.semantic-ratio.zero-keyword');
  test('0 finds by words alone, and asks no service', async (t) => {
    const { find, server } = await start(t, { tools: WITH_MEANING, optimizer: { hybridSearchSemanticRatio: '0' } });
    const found = await find(UMBRELLA);
    assert.deepEqual([namesOf(found), found.search, found.degraded], [[], 'keyword', undefined]);
    assert.deepEqual(namesOf(await find('weather')), ['a_forecast']);
    assert.equal(server.asked.length, 0);
  });

  covers('optimizer.semantic-ratio.one-semantic');
  test('1 finds by meaning alone', async (t) => {
    const optimizer = { hybridSearchSemanticRatio: '1', semanticDistanceThreshold: '0.5' };
    const { find, running } = await start(t, { tools: WITH_MEANING, optimizer });
    await embedded(running, 3);
    // "ticket" is a word of one tool, and "rain" makes the text mean weather as well.
    const found = await find('rain somebody');
    assert.deepEqual([namesOf(found), found.search], [['a_forecast'], 'semantic']);
  });

  covers('optimizer.semantic-ratio.mixed', 'optimizer.semantic-ratio.default');
  test('between them orders by both, the more by meaning the greater it is; half where nothing is said', async (t) => {
    const { find, running, backend, embeddingService } = await start(t, { tools: WITH_MEANING });
    await embedded(running, 3);
    const order = async (hybridSearchSemanticRatio?: string) => {
      const ratio = hybridSearchSemanticRatio === undefined ? {} : { hybridSearchSemanticRatio };
      running.reload(configFile({ a: backend.url }, { optimizer: { embeddingService, ...ratio } }));
      await embedded(running, 3);
      const found = await find('rain: posts for somebody');
      assert.equal(found.search, 'hybrid');
      return namesOf(found).slice(0, 2);
    };
    assert.deepEqual(await order('0.9'), ['a_forecast', 'a_send_letter']);
    assert.deepEqual(await order('0.1'), ['a_send_letter', 'a_forecast']);
    assert.deepEqual(await order(), await order('0.5'));
  });
});

describe('the distance', () => {
  /** Cosine distances to a query that points to (1, 0): 0, 1 - 0.6, 1 and 2. */
  const VECTORS: Readonly<Record<string, readonly number[]>> = {
    same: [1, 0],
    near: [0.6, 0.8],
    across: [0, 1],
    opposite: [-1, 0],
  };
  const service: EmbeddingServerOptions = {
    vectorOf: (text) => Object.entries(VECTORS).find(([name]) => text.startsWith(`a_${name}`))?.[1] ?? [1, 0],
  };
  const tools = Object.keys(VECTORS).map((name) => toolText(name, 'A tool'));
  const found = async (t: TestContext, semanticDistanceThreshold?: string, query = 'xyzzy') => {
    const threshold = semanticDistanceThreshold === undefined ? {} : { semanticDistanceThreshold };
    const optimizer = { hybridSearchSemanticRatio: query === 'xyzzy' ? '1' : '0.5', ...threshold };
    const { find, running } = await start(t, { service, tools, optimizer });
    await embedded(running, 4);
    return namesOf(await find(query)).toSorted();
  };

  covers('optimizer.distance.scale', 'optimizer.distance.drops-above');
  test('runs from 0 to 2, and what is above the threshold is dropped', async (t) => {
    assert.deepEqual(await found(t, '0'), ['a_same']);
    assert.deepEqual(await found(t, '0.41'), ['a_near', 'a_same']);
    assert.deepEqual(await found(t, '1.99'), ['a_across', 'a_near', 'a_same']);
    assert.deepEqual(await found(t, '2'), ['a_across', 'a_near', 'a_opposite', 'a_same']);
  });

  covers('optimizer.distance.default');
  test('is at most 1 where nothing else is said', async (t) => {
    assert.deepEqual(await found(t), ['a_across', 'a_near', 'a_same']);
  });

  covers('optimizer.distance.keyword-unaffected');
  test('does not matter for tools that have the words', async (t) => {
    assert.deepEqual(await found(t, '0', 'opposite'), ['a_opposite', 'a_same']);
  });
});

type Answering = NonNullable<EmbeddingServerOptions['on']>;

const answered =
  (act: (response: Parameters<Answering>[0]) => void): Answering =>
  (response) => {
    act(response);
    return true;
  };

describe('a service that cannot be used', () => {
  const hang: EmbeddingServerOptions['on'] = () => true;

  for (const [what, on, degraded] of [
    ['answers garbage', answered((response) => void response.end('garbage')), 'unavailable'],
    ['answers with no numbers', answered((response) => void response.end('[["x"]]')), 'unavailable'],
    ['answers with zeros', answered((response) => void response.end('[[0,0]]')), 'unavailable'],
    ['answers 500', answered((response) => void response.writeHead(500).end()), 'unavailable'],
    ['breaks the connection', answered((response) => void response.destroy()), 'unavailable'],
  ] as const satisfies readonly (readonly [string, EmbeddingServerOptions['on'], string])[])
    test(`and ${what} leaves the search by words, says so, and is tried again after a pause`, async (t) => {
      const { find, server, clock, running } = await start(t, { service: { on }, tools: WITH_MEANING });
      const found = await until('the failure', async () => {
        const each = await find('weather');
        return each.degraded === `embedding_service_${degraded}` ? each : undefined;
      });
      assert.deepEqual([namesOf(found), found.search], [['a_forecast'], 'keyword']);
      const asked = server.asked.length;
      await find('weather again');
      assert.equal(server.asked.length, asked, 'it is left alone for a while');
      assert.match((await scraped(running, 'vmcp_optimizer_searches_total')).join(), /degraded="embedding_service_/);
      server.set({});
      clock.advance(1_000);
      await embedded(running, 3);
      assert.equal((await find(UMBRELLA)).tools[0]?.name, 'a_forecast');
    });

  test('that is slow costs a search no more than the time that is stated; the answer is there for the next', async (t) => {
    const { find, server, clock, running, session } = await start(t, { tools: WITH_MEANING });
    await embedded(running, 3);
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    server.set({
      on: (response, { texts }) => {
        void goOn.then(() => response.writeHead(200).end(JSON.stringify(texts.map(meaningOf))));
        return true;
      },
    });
    const finding = session.call('find_tool', { tool_description: UMBRELLA });
    await server.received(({ texts }) => texts[0] === UMBRELLA);
    // The longest that is stated.
    clock.advance(200);
    const found = foundIn(await finding);
    assert.deepEqual([found.search, found.degraded], ['keyword', 'embedding_service_slow']);
    resolve();
    await until('the vector', async () => {
      const lines = await scraped(running, 'vmcp_optimizer_embedding_duration_seconds_count');
      return lines.some((line) => /query.*embedded"\} 1$/.test(line)) ? true : undefined;
    });
    assert.equal((await find(UMBRELLA)).tools[0]?.name, 'a_forecast');
  });

  covers('optimizer.embedding-timeout.default');
  test('and hangs is given up after 30 s', async (t) => {
    const { clock, server, running } = await start(t, { service: { on: hang } });
    await server.received(({ texts }) => texts[0] === PROBE);
    clock.advance(29_999);
    server.set({});
    assert.equal(server.asked.length, 1);
    clock.advance(1);
    // The pause after a failure begins once the request has failed.
    await until('the next attempt', async () => {
      clock.advance(100);
      return server.asked.length > 1 ? true : undefined;
    });
    await embedded(running, 3);
  });

  covers('optimizer.embedding-timeout.custom');
  test('and hangs is given up after the time of the configuration', async (t) => {
    const { clock, server, find } = await start(t, {
      service: { on: hang },
      optimizer: { embeddingServiceTimeout: '5s' },
    });
    await server.received(({ texts }) => texts[0] === PROBE);
    clock.advance(4_999);
    const { degraded, tools } = await find('forecast');
    assert.deepEqual([degraded, tools.length], ['embeddings_incomplete', 1]);
    clock.advance(1);
    await until('the failure', async () =>
      (await find('forecast')).degraded === 'embedding_service_unavailable' ? true : undefined,
    );
  });

  test('is not waited for by lists and calls, a new session, nor a search as long as no tool has a vector', async (t) => {
    const { session, server, find } = await start(t, { service: { on: hang } });
    await server.received(({ texts }) => texts[0] === PROBE);
    assert.equal((await session.toolNames()).length, 2);
    const { text } = await session.call('call_tool', { tool_name: 'a_forecast' });
    assert.match(text, /forecast/);
    const found = await find('forecast');
    assert.deepEqual([found.search, found.degraded], ['keyword', 'embeddings_incomplete']);
    assert.deepEqual(server.texts(), []);
  });

  test('and comes back with another model: all tools are embedded by that one, and no two models are compared', async (t) => {
    const { find, server, clock, running } = await start(t, { tools: WITH_MEANING });
    await embedded(running, 3);
    const before = server.texts().length;
    server.set({ model: 'another', vectorOf: (text) => (/weather|umbrella/i.test(text) ? [0, 1, 0] : [1, 0, 0]) });
    const { degraded } = await find(UMBRELLA);
    assert.equal(degraded, 'embedding_service_unavailable', 'the vector has another dimension');
    clock.advance(1_000);
    await find('an umbrella');
    await until('the vectors', async () => (server.texts().length >= before + 5 ? true : undefined), { intervalMs: 5 });
    await embedded(running, 3);
    assert.equal((await find('an umbrella')).tools[0]?.name, 'a_forecast');
  });
});
