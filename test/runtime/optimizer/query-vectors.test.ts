import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { QueryVectors } from '../../../runtime/optimizer/embeddings/query-vectors.ts';
import { nextTurn } from '../../../runtime/process/index.ts';
import { startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { serviceAt } from '../../fixtures/embedding-service.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** Queries of a service that takes `tookMs`, as far as the clock shows. */
const start = async (t: TestContext, { tookMs = 0, mostMs = 200 } = {}) => {
  const server = await startEmbeddingServer();
  t.after(() => server.close());
  const clock = frozenClock();
  let now = 0;
  const steadyNow = (): number => (now += tookMs);
  const service = serviceAt(server, clock, steadyNow);
  const queries = new QueryVectors({ service, clock, steadyNow, mostMs: () => mostMs, onConnected: () => {} });
  return { server, queries, service, clock };
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

test('the queries of one caller leave room for those of others while the service does not answer', async (t) => {
  const { server, queries, clock } = await start(t);
  server.set({ on: () => true });
  const waiting: string[] = [];
  const ask = (count: number, askerOf: (n: number) => string) =>
    Array.from({ length: count }, async (_, n) => {
      const asker = askerOf(n);
      waiting.push(asker);
      const answer = await queries.vectorOf(`query ${n}`, asker);
      waiting.splice(waiting.indexOf(asker), 1);
      assert.deepEqual(answer, { degraded: 'embedding_service_slow' });
    });
  const asked = [...ask(40, () => 'alice'), ...ask(4, () => 'bob'), ...ask(10, (n) => `caller ${n}`)];
  await nextTurn();
  const countOf = (asker: string): number => waiting.filter((each) => each === asker).length;
  assert.deepEqual([countOf('alice'), countOf('bob'), waiting.length], [24, 4, 32]);
  clock.advance(1_000);
  await Promise.all(asked);
});

test('a service is waited for twice as long as it took, and hardly once it takes most of the longest time', async (t) => {
  for (const [tookMs, mostMs, budgetMs] of [
    [5, 200, 30],
    [60, 200, 120],
    [140, 200, 200],
    [160, 200, 30],
    [160, 1_000, 320],
    [700, 1_000, 1_000],
    [800, 1_000, 30],
  ] as const) {
    const { queries, service } = await start(t, { tookMs, mostMs });
    assert.equal(queries.budgetMs, 30, 'nothing is known of it yet');
    await service.connect();
    assert.equal(queries.budgetMs, budgetMs, `of ${mostMs} ms where it takes ${tookMs}`);
  }
});
