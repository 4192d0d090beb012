import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../runtime/store/store.ts';
import { bytes, type Given, LONG, text } from './given-store.ts';

/** A key holds a value or a map. */
export const kindsContract = ({ given, newKey }: Given): void => {
  const map = (store: Store, key: string): Promise<boolean> => store.createMap(key, new Map([['a', bytes('1')]]), LONG);

  test('a map is no value', async () => {
    const [store, key] = [given(), newKey()];
    await map(store, key);
    assert.equal(await store.get(key), undefined);
    assert.equal(await store.take(key), undefined);
    assert.equal(await store.setIfAbsent(key, bytes('x'), LONG), false);
    assert.equal((await store.readMap(key))?.size, 1);
    assert.equal(store.state(), 'up');
  });

  test('a value is no map', async () => {
    const [store, key] = [given(), newKey()];
    await store.set(key, bytes('x'), LONG);
    assert.equal(await map(store, key), false);
    assert.equal(await store.readMap(key), undefined);
    assert.equal(await store.readMap(key, LONG), undefined);
    assert.equal(await store.setField(key, 'a', bytes('1')), false);
    assert.equal(await store.setFieldIfAbsent(key, 'a', bytes('1')), undefined);
    assert.equal(await store.replaceField(key, 'a', bytes('x'), bytes('1')), false);
    assert.equal(await store.deleteField(key, 'a'), false);
    assert.equal(text(await store.get(key)), 'x');
    assert.equal(store.state(), 'up');
  });

  test('a value takes the place of a map, with a life of its own', async () => {
    const [store, key] = [given(), newKey()];
    await map(store, key);
    await store.set(key, bytes('x'), LONG);
    assert.equal(text(await store.get(key)), 'x');
    assert.equal(await store.readMap(key), undefined);
  });

  test('both are renewed and deleted alike', async () => {
    const [store, value, fields] = [given(), newKey(), newKey()];
    await store.set(value, bytes('x'), LONG);
    await map(store, fields);
    for (const key of [value, fields]) {
      assert.equal(await store.touch(key, LONG), true);
      assert.equal(await store.delete(key), true);
      assert.equal(await store.touch(key, LONG), false);
    }
  });
};
