import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VectorCache } from '../../../runtime/optimizer/embeddings/vector-cache.ts';

/** What two replicas have in common. */
const sharedStore = () => {
  const values = new Map<string, Buffer>();
  return {
    get: async (key: string) => values.get(key),
    set: async (key: string, value: Buffer) => void values.set(key, value),
    setIfAbsent: async (key: string, value: Buffer) => !values.has(key) && values.set(key, value).has(key),
    delete: async (key: string) => values.delete(key),
  };
};

test('replicas know a model by one vector, whatever rounding makes of it at each of them', async () => {
  const store = sharedStore();
  const [one, other] = [new VectorCache({ store }), new VectorCache({ store })];
  const first = await one.knownProbe('m', Float32Array.of(1, 2, 3));
  assert.deepEqual(await other.knownProbe('m', Float32Array.of(1.001, 1.999, 3)), first);
  assert.deepEqual(await other.knownProbe('n', Float32Array.of(1.001, 2, 3)), Float32Array.of(1.001, 2, 3));
});

test('a model that is another one under the same name is known by its own', async () => {
  const store = sharedStore();
  await new VectorCache({ store }).knownProbe('m', Float32Array.of(1, 2, 3));
  const other = Float32Array.of(-3, 2, 1);
  assert.deepEqual(await new VectorCache({ store }).knownProbe('m', other), other);
  assert.deepEqual(await new VectorCache({ store }).knownProbe('m', Float32Array.of(-3, 2, 1.001)), other);
});

test('replicas that meet a model at one time know it by one vector, also in place of another of its name', async () => {
  const store = sharedStore();
  for (const [x, y] of [
    [1, 2],
    [-3, 2],
    [2, -3],
  ] as const) {
    const replicas = [0, 0.001, 0.002].map((error) =>
      new VectorCache({ store }).knownProbe('m', Float32Array.of(x, y, 1 + error)),
    );
    const [first, ...others] = await Promise.all(replicas);
    assert.deepEqual(others, [first, first]);
  }
});

test('a model that comes back is known by the vector that it had', async () => {
  const store = sharedStore();
  const probeOf = (...values: readonly number[]) =>
    new VectorCache({ store }).knownProbe('m', Float32Array.from(values));
  const first = await probeOf(1, 2, 3);
  await probeOf(-3, 2, 1);
  assert.deepEqual(await probeOf(1.001, 2, 3), first);
});

test('a tool is claimed by one replica at a time', async () => {
  const store = sharedStore();
  const [one, other] = [new VectorCache({ store }), new VectorCache({ store })];
  const of = { model: 'm', dimension: 3, hash: 'h' };
  assert.deepEqual([await one.claim(of), await other.claim(of)], [true, false]);
  await one.release(of);
  assert.equal(await other.claim(of), true);
});

test('without an answer of the store each replica embeds for itself', async () => {
  const away = async () => Promise.reject(new Error('away'));
  const cache = new VectorCache({ store: { get: away, set: away, setIfAbsent: away, delete: away } });
  assert.equal(await cache.claim({ model: 'm', dimension: 3, hash: 'h' }), true);
  await cache.release({ model: 'm', dimension: 3, hash: 'h' });
});
