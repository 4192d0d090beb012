import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedService } from '../../../runtime/optimizer/embeddings/embedding-client.ts';
import { EmbedTools } from '../../../runtime/optimizer/embeddings/embed-tools.ts';
import { VectorCache } from '../../../runtime/optimizer/embeddings/vector-cache.ts';
import { nextTurn } from '../../../runtime/process/index.ts';
import { startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { serviceAt } from '../../fixtures/embedding-service.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** Two tools, whose vectors a store is asked for that answers when it is told to. */
const start = async () => {
  const server = await startEmbeddingServer();
  const clock = frozenClock();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Buffer | undefined>();
  const store = {
    get: () => (asked.resolve(), answer.promise),
    set: async () => {},
    setIfAbsent: async () => true,
    delete: async () => true,
  };
  const given: string[] = [];
  const left = ['a', 'b'];
  const service = serviceAt(server, clock);
  const tools = new EmbedTools({
    service,
    cache: new VectorCache({ store }),
    missing: () => left.filter((hash) => !given.includes(hash)),
    textOf: (hash) => hash,
    setVector: (hash) => given.push(hash),
    setRefused: () => assert.fail('refused'),
    dropVectors: () => {},
    clock,
    log: { error: (...of: readonly unknown[]) => assert.fail(String(of)) },
    onVector: () => {},
  });
  tools.note();
  await asked.promise;
  const connected = service.connected ?? assert.fail('not connected');
  const vector = Buffer.alloc(4 * connected.dimension);
  vector.writeFloatLE(1);
  const settle = async (): Promise<void> => {
    answer.resolve(vector);
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  };
  return { server, tools, given, left, connected, settle };
};

test('vectors that the store gives after a reload are not put among those of another service', async (t) => {
  const { server, tools, given, settle } = await start();
  t.after(() => server.close());
  tools.end();
  await settle();
  assert.deepEqual(given, []);
});

test('vectors of the model before are not put among those of the one that has replaced it', async (t) => {
  const { server, tools, given, left, connected, settle } = await start();
  t.after(() => server.close());
  const other: ConnectedService = { ...connected, modelKey: 'other' };
  tools.use(other);
  left.length = 0;
  await settle();
  tools.end();
  assert.deepEqual(given, []);
});

test('vectors that the store gives are those of the tools', async (t) => {
  const { server, tools, given, settle } = await start();
  t.after(() => server.close());
  await settle();
  tools.end();
  assert.deepEqual(given, ['a', 'b']);
});
