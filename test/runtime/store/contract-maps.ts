import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fields, STORE_LIMITS } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { bytes, type Given, LONG, text } from './given-store.ts';
import { hasCode } from './has-code.ts';

const texts = (fields: Fields | undefined): Readonly<Record<string, string>> | undefined =>
  fields && Object.fromEntries([...fields].map(([name, value]) => [name, value.toString()]));

export const mapsContract = ({ given, newKey }: Given): void => {
  test('a map is made once', async () => {
    const [store, key] = [given(), newKey()];
    const made = await Promise.all(
      ['a', 'b'].map((each) => store.createMap(key, new Map([['who', bytes(each)]]), LONG)),
    );
    assert.deepEqual(made, [true, false]);
    const fields = await store.readMap(key);
    assert.deepEqual(
      [...(fields ?? [])].map(([name, value]) => [name, text(value)]),
      [['who', 'a']],
    );
  });

  test('a map is read with the time of the store, which is that of whichever machine it is on', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    for (const ttlMs of [undefined, LONG]) {
      const before = Date.now();
      const { readAtMs = 0, size } = (await store.readMap(key, ttlMs)) ?? {};
      assert.ok(Number.isInteger(readAtMs) && readAtMs >= before - 1 && readAtMs <= Date.now() + 1, `${readAtMs}`);
      assert.equal(size, 1);
    }
  });

  test('of two that set a field if absent, the first wins, and both learn who', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    const kept = await Promise.all(['x', 'y'].map((each) => store.setFieldIfAbsent(key, 'b', bytes(each))));
    assert.deepEqual(kept.map(text), ['x', 'x']);
  });

  test('a map that is gone is not made anew by its fields', async () => {
    const [store, key] = [given(), newKey()];
    assert.equal(await store.readMap(key), undefined);
    assert.equal(await store.setField(key, 'a', bytes('1')), false);
    assert.equal(await store.setFieldIfAbsent(key, 'a', bytes('1')), undefined);
    assert.equal(await store.replaceField(key, 'a', bytes('1'), bytes('1')), false);
    assert.equal(await store.deleteField(key, 'a'), false);
    assert.equal(await store.readMap(key, LONG), undefined);
  });

  test('a field is deleted only while it holds what was meant', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['keep', bytes('')]]), LONG);
    await store.setField(key, 'a', bytes('new'));
    assert.equal(await store.deleteField(key, 'a', bytes('old')), false);
    assert.equal(await store.deleteField(key, 'a', bytes('new')), true);
    assert.equal(await store.deleteField(key, 'a'), false);
    assert.deepEqual([...((await store.readMap(key))?.keys() ?? [])], ['keep']);
  });

  test('of two that replace what a field holds, the first does, and no other value is replaced', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    const replaced = await Promise.all(['x', 'y'].map((each) => store.replaceField(key, 'a', bytes('1'), bytes(each))));
    assert.deepEqual(replaced, [true, false]);
    assert.equal(await store.replaceField(key, 'b', bytes(''), bytes('2')), false);
    assert.equal(await store.replaceField(key, 'a', bytes('x'), bytes('')), true);
    assert.equal(await store.replaceField(key, 'a', bytes(''), bytes('3')), true);
    assert.deepEqual(texts(await store.readMap(key)), { a: '3' });
  });

  test('reading a map with a life begins it anew, reading it without does not', async () => {
    const [store, read, renewed] = [given(), newKey(), newKey()];
    for (const key of [read, renewed]) await store.createMap(key, new Map([['a', bytes('1')]]), 50);
    await store.readMap(renewed, LONG);
    await store.readMap(read);
    await until('the end', async () => ((await store.readMap(read)) === undefined ? true : undefined), {
      intervalMs: 5,
    });
    assert.equal((await store.readMap(renewed))?.size, 1);
  });

  test('a map takes so many fields and no more', async () => {
    const [store, key] = [given(), newKey()];
    const fields = Array.from({ length: STORE_LIMITS.fields }, (_, at) => [`f${at}`, bytes('1')] as const);
    assert.equal(await store.createMap(key, new Map(fields), LONG), true);
    await assert.rejects(store.setField(key, 'more', bytes('1')), hasCode('overloaded'));
    await assert.rejects(store.setFieldIfAbsent(key, 'more', bytes('1')), hasCode('overloaded'));
    assert.equal(await store.setField(key, 'f0', bytes('2')), true);
    assert.equal(await store.replaceField(key, 'f0', bytes('2'), bytes('3')), true);
    assert.equal(await store.deleteField(key, 'f1'), true);
    assert.equal(await store.setField(key, 'more', bytes('1')), true);
  });

  test('a full map still tells what it holds', async () => {
    const [store, key] = [given(), newKey()];
    const fields = Array.from({ length: STORE_LIMITS.fields }, (_, at) => [`f${at}`, bytes('1')] as const);
    await store.createMap(key, new Map(fields), LONG);
    assert.equal(text(await store.setFieldIfAbsent(key, 'f0', bytes('2'))), '1');
    assert.equal((await store.readMap(key))?.size, STORE_LIMITS.fields);
  });

  test('a map takes as many fields as the call allows', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    await assert.rejects(store.setField(key, 'b', bytes('1'), 1), hasCode('overloaded'));
    assert.equal(await store.setField(key, 'a', bytes('2'), 1), true);
    assert.equal(await store.setField(key, 'b', bytes('1'), 2), true);
    assert.deepEqual(texts(await store.readMap(key)), { a: '2', b: '1' });
  });

  test('a map whose last field goes is gone', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    assert.equal(await store.deleteField(key, 'a'), true);
    assert.equal(await store.readMap(key), undefined);
    assert.equal(await store.setField(key, 'a', bytes('1')), false);
    assert.equal(await store.touch(key, LONG), false);
    assert.equal(await store.delete(key), false);
    assert.equal(await store.createMap(key, new Map([['b', bytes('2')]]), LONG), true);
    assert.deepEqual(texts(await store.readMap(key)), { b: '2' });
  });

  test('fields may be empty, and have any name', async () => {
    const [store, key] = [given(), newKey()];
    const fields = { '': 'no name', empty: '', constructor: 'c', ключ: 'k' };
    await store.createMap(key, new Map(Object.entries(fields).map(([name, value]) => [name, bytes(value)])), LONG);
    assert.deepEqual(texts(await store.readMap(key)), fields);
    assert.equal(text(await store.setFieldIfAbsent(key, 'empty', bytes('x'))), '');
    assert.equal(text(await store.setFieldIfAbsent(key, 'another', bytes(''))), '');
    assert.equal(await store.deleteField(key, 'empty', bytes('x')), false);
    assert.equal(await store.deleteField(key, 'empty', bytes('')), true);
    assert.equal(await store.deleteField(key, ''), true);
  });

  test('what was given and what came back of a map belongs to the caller', async () => {
    const [store, key] = [given(), newKey()];
    const value = bytes('as it was');
    await store.createMap(key, new Map([['a', value]]), LONG);
    await store.setField(key, 'b', value);
    await store.setFieldIfAbsent(key, 'c', value);
    await store.setField(key, 'd', bytes('before'));
    await store.replaceField(key, 'd', bytes('before'), value);
    value.fill('x');
    for (const each of (await store.readMap(key))?.values() ?? []) each.fill('y');
    (await store.setFieldIfAbsent(key, 'c', bytes('?')))?.fill('y');
    assert.deepEqual(texts(await store.readMap(key)), {
      a: 'as it was',
      b: 'as it was',
      c: 'as it was',
      d: 'as it was',
    });
  });
};
