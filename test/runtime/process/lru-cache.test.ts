import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lruCache } from '../../../runtime/process/index.ts';

const kept = (cache: ReturnType<typeof lruCache<string>>, keys: string): string =>
  keys
    .split('')
    .filter((key) => cache.get(key) !== undefined)
    .join('');

describe('a cache of the most recently used values', () => {
  test('evicts what was not used before what was', () => {
    const cache = lruCache<string>({ count: 3, bytes: 100 });
    for (const key of 'abc') cache.set(key, key, 1);
    cache.get('a');
    cache.get('c');
    cache.set('d', 'd', 1);
    assert.equal(kept(cache, 'abcd'), 'acd');
  });

  test('evicts the oldest where all were used, and has room for a new one in any case', () => {
    const cache = lruCache<string>({ count: 3, bytes: 100 });
    for (const key of 'abcdefgh') {
      cache.set(key, key, 1);
      assert.equal(cache.get(key), key);
    }
    assert.deepEqual([kept(cache, 'abcdefgh'), cache.count()], ['fgh', 3]);
  });

  test('counts the bytes of what it has, once', () => {
    const cache = lruCache<string>({ count: 9, bytes: 10 });
    cache.set('a', 'a', 4);
    cache.set('a', 'a', 4);
    cache.set('b', 'b', 6);
    assert.equal(kept(cache, 'ab'), 'ab');
    cache.delete('a');
    cache.set('c', 'c', 4);
    assert.equal(kept(cache, 'abc'), 'bc');
    cache.retain((value) => value !== 'b');
    cache.set('d', 'd', 6);
    assert.equal(kept(cache, 'abcd'), 'cd');
  });

  test('keeps no value that is larger than all may be, and loses no other for it', () => {
    const cache = lruCache<string>({ count: 9, bytes: 10 });
    cache.set('a', 'a', 4);
    cache.set('b', 'b', 4);
    cache.set('a', 'larger', 11);
    assert.equal(kept(cache, 'ab'), 'b');
  });
});
