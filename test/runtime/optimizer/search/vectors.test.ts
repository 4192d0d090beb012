import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, boolean, float, integer, property } from 'fast-check';
import { dotProducts } from '../../../../runtime/optimizer/search/dot-products.ts';
import { Vectors } from '../../../../runtime/optimizer/search/vectors.ts';

/** The same for the same seed, each number between -1 and 1. */
const someVector = (seed: number, dimensions: number): Float32Array => {
  let state = seed + 1;
  return Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
};

const distance = (one: Float32Array, other: Float32Array): number => {
  let [product, ones, others] = [0, 0, 0];
  for (const [at, value] of one.entries()) {
    product += value * (other[at] ?? 0);
    ones += value ** 2;
    others += (other[at] ?? 0) ** 2;
  }
  return 1 - product / Math.sqrt(ones * others);
};

test('products of whole numbers are exact, also after the memory has grown', () => {
  const small = { min: -128, max: 127 };
  check(
    property(
      array(array(integer(small), { minLength: 64, maxLength: 64 }), { minLength: 1, maxLength: 40 }),
      array(integer({ min: -16_384, max: 16_384 }), { minLength: 64, maxLength: 64 }),
      (rows, query) => {
        const products = dotProducts(64);
        for (const [at, row] of rows.entries()) {
          products.reserve(at + 1);
          products.row(at).set(row);
        }
        products.reserve(5_000);
        products.query().set(query);
        assert.deepEqual(
          [...products.compute(rows.length)],
          rows.map((row) => row.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0)),
        );
      },
    ),
    { numRuns: 30 },
  );
});

for (const dimensions of [1, 3, 31, 32, 33, 384, 1_024])
  test(`the nearest of vectors of ${dimensions} dimensions are those that are nearest`, () => {
    const vectors = new Vectors();
    const rows = Array.from({ length: 300 }, (_, slot) => someVector(slot, dimensions));
    for (const [slot, row] of rows.entries()) vectors.set(slot, row);
    const query = someVector(1_000, dimensions);
    const isVisible = (slot: number): boolean => slot % 3 !== 0;
    const expected = rows
      .map((row, slot) => ({ slot, distance: distance(query, row) }))
      .filter(({ slot }) => isVisible(slot))
      .toSorted((a, b) => a.distance - b.distance);
    const near = vectors
      .nearest(
        query,
        Uint8Array.from(rows, (_, slot) => (isVisible(slot) ? 1 : 0)),
        10,
      )
      .toSorted((a, b) => a.distance - b.distance);
    for (const [rank, { slot, distance }] of expected.slice(0, 10).entries()) {
      assert.ok(near.some((each) => each.slot === slot));
      assert.ok(Math.abs((near[rank]?.distance ?? NaN) - distance) < 1e-5);
    }
  });

test('vectors come, are replaced and go one by one', () => {
  const vectors = new Vectors();
  const [east, west, north] = [new Float32Array([1, 0]), new Float32Array([-1, 0]), new Float32Array([0, 1])];
  vectors.set(0, east);
  vectors.set(7, west);
  vectors.set(0, north);
  const all = new Uint8Array(8).fill(1);
  assert.deepEqual(vectors.nearest(east, all, 8), [
    { slot: 0, distance: 1 },
    { slot: 7, distance: 2 },
  ]);
  vectors.delete(7);
  vectors.delete(7);
  assert.deepEqual([vectors.count, vectors.has(7), vectors.distance(east, 7)], [1, false, undefined]);
  assert.deepEqual(vectors.nearest(east, all, 8), [{ slot: 0, distance: 1 }]);
});

test('a distance is never NaN, whatever finite numbers a service sends', () => {
  const finite = float({ noNaN: true, noDefaultInfinity: true });
  check(
    property(array(finite, { minLength: 2, maxLength: 40 }), boolean(), (values, isQuery) => {
      const vectors = new Vectors();
      const [given, other] = [Float32Array.from(values), someVector(1, values.length)];
      try {
        vectors.set(0, isQuery ? other : given);
      } catch (error) {
        // Without direction: zeros, or lengths that no number holds.
        assert.ok(error instanceof RangeError);
        return;
      }
      const near = vectors.nearest(isQuery ? given : other, new Uint8Array([1]), 1);
      for (const { distance } of near) assert.ok(distance >= -1e-6 && distance <= 2 + 1e-6, `${distance}`);
    }),
  );
});
