import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimilarWordsCache } from '../../../../runtime/optimizer/search/similar-words-cache.ts';

const words = (count: number) => (): ReadonlySet<string> =>
  new Set(Array.from({ length: count }, (_, index) => `word${index}`));

/** Masks, and whether their tables are kept still. */
const start = (bounds: { readonly tables: number; readonly words: number }) => {
  const cache = new SimilarWordsCache(bounds);
  const keep = (count: number): Uint8Array => {
    const mask = new Uint8Array(1);
    cache.tableOf(mask, words(count));
    return mask;
  };
  const isKept = (mask: Uint8Array): boolean => {
    let isMade = false;
    cache.tableOf(mask, () => ((isMade = true), new Set()));
    return !isMade;
  };
  return { cache, keep, isKept };
};

test('a table is made once, and the least recently used one goes when there are too many', () => {
  const { cache, keep, isKept } = start({ tables: 2, words: 1_000 });
  const [one, two] = [keep(1), keep(1)];
  assert.ok(isKept(one));
  keep(1);
  assert.equal(cache.size, 2);
  assert.deepEqual([isKept(one), isKept(two)], [true, false]);
});

test('tables go when they have too many words together; one alone may have any number', () => {
  const { cache, keep } = start({ tables: 10, words: 100 });
  keep(60);
  keep(60);
  assert.equal(cache.size, 1);
  keep(500);
  assert.equal(cache.size, 1);
  keep(40);
  keep(60);
  assert.equal(cache.size, 2);
});

test('of the words of the table the most similar ones are found, best first', () => {
  const cache = new SimilarWordsCache();
  const table = cache.tableOf(new Uint8Array(1), () => new Set(['ticket', 'tickets', 'rocket', 'forecast']));
  assert.deepEqual(
    table.near('tickett', 2).map(({ word }) => word),
    ['ticket', 'tickets'],
  );
});
