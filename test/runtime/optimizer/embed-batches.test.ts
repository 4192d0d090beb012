import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FetchError, type GuardedFetch } from '../../../runtime/http/index.ts';
import { EmbeddingService } from '../../../runtime/optimizer/embeddings/embedding-service.ts';
import { EmbedTools } from '../../../runtime/optimizer/embeddings/embed-tools.ts';
import { VectorCache } from '../../../runtime/optimizer/embeddings/vector-cache.ts';
import { nextTurn } from '../../../runtime/process/index.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** The number of texts of a request for vectors. */
type Answer = (count: number) => { readonly status: number };

/** Tools to be embedded by a service that answers a number of texts as `answer` says. */
const start = (answer: Answer) => {
  const clock = frozenClock();
  const missing = new Set<string>();
  const batches: number[] = [];
  const warnings: unknown[] = [];
  const replyOf = (status: number, value: unknown) => ({
    status,
    headers: {},
    body: Buffer.from(JSON.stringify(value)),
  });
  const fetch: GuardedFetch = async ({ url, body }) => {
    if (url.endsWith('/info')) return replyOf(200, { model_id: 'm', max_client_batch_size: 33 });
    const texts = (body?.toString().match(/text|dimension/g) ?? []).length;
    // The probe goes with every batch.
    const count = Math.max(1, texts - 1);
    batches.push(count);
    const vectors = Array.from({ length: texts }, () => [1, 0, 0]);
    return replyOf(answer(count).status, vectors);
  };
  const service = new EmbeddingService(
    { url: 'http://embeddings', model: undefined },
    {
      fetch,
      apiKey: async () => undefined,
      steadyNow: () => 0,
      clock,
      random: () => 0.5,
      log: { info: () => {}, warn: (...of: readonly unknown[]) => void warnings.push(of) },
      knownProbe: async (_name, probe) => probe,
      onAsked: () => {},
    },
  );
  const tools = new EmbedTools({
    service,
    cache: new VectorCache({ store: undefined }),
    missing: () => [...missing],
    textOf: (hash) => `text ${hash}`,
    setVector: (hash) => void missing.delete(hash),
    setRefused: () => assert.fail('refused'),
    dropVectors: () => {},
    clock,
    log: { error: (...of: readonly unknown[]) => assert.fail(String(of)) },
    onVector: () => {},
  });
  const add = (count: number): void => {
    for (let at = 0; at < count; at += 1) missing.add(`tool${at}`);
    tools.note();
  };
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 60; turns += 1) await nextTurn();
  };
  /** Runs what falls due in this time. */
  const pass = async (ms: number): Promise<void> => {
    const until = clock.now() + ms;
    await settle();
    for (let [next] = clock.pending(); next !== undefined && clock.now() + next <= until; [next] = clock.pending()) {
      clock.advance(next);
      await settle();
    }
  };
  return { clock, missing, batches, warnings, service, tools, add, settle, pass };
};

const takesAll: Answer = () => ({ status: 200 });

test('a service that fails at batches alone is left alone longer each time', async () => {
  const { add, pass, batches, warnings } = start((count) => ({ status: count > 1 ? 503 : 200 }));
  add(40);
  await pass(60_000);
  const failed = batches.filter((count) => count > 1).length;
  assert.ok(failed >= 3 && failed <= 10, `${failed} batches were sent`);
  assert.equal(warnings.length, 1);
});

test('a query that is answered does not shorten the pause after batches that are not', async () => {
  const { add, pass, batches, service } = start((count) => ({ status: count > 1 ? 503 : 200 }));
  add(40);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await pass(1_000);
    if (!service.resting) await service.embed(await service.connect(), ['text of a query'], 'query');
  }
  assert.ok(batches.filter((count) => count > 1).length <= 10);
});

test('a batch that takes too long is sent in smaller ones, until all tools have their vectors', async () => {
  const { add, pass, missing, batches } = start((count) => {
    if (count > 8) throw new FetchError('timeout');
    return { status: 200 };
  });
  add(32);
  await pass(60_000);
  assert.equal(missing.size, 0);
  assert.deepEqual(
    batches.filter((count) => count > 1),
    [32, 16, 8, 8, 8, 8],
  );
});

test('a tool that comes in the moment in which the work ends gets its vector', async () => {
  for (let steps = 0; steps < 10; steps += 1) {
    const { add, tools, missing, settle } = start(takesAll);
    tools.note();
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    add(1);
    await settle();
    assert.equal(missing.size, 0, `after ${steps} steps`);
  }
});
