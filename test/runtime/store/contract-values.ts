import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { bytes, type Given, LONG, SHORT, soon, text } from './given-store.ts';

export const valuesContract = ({ given, newKey }: Given): void => {
  test('a value is read as it was written, until it is deleted', async () => {
    const [store, key] = [given(), newKey()];
    const value = Buffer.from([0, 255, 10, 13, 128]);
    await store.set(key, value, LONG);
    assert.deepEqual(await store.get(key), value);
    await store.set(key, bytes('newer'), LONG);
    assert.equal(text(await store.get(key)), 'newer');
    assert.equal(await store.delete(key), true);
    assert.equal(await store.delete(key), false);
    assert.equal(await store.get(key), undefined);
  });

  test('of two that set a value if absent, the first wins', async () => {
    const [store, key] = [given(), newKey()];
    const won = await Promise.all(['a', 'b'].map((each) => store.setIfAbsent(key, bytes(each), LONG)));
    assert.deepEqual(won, [true, false]);
    assert.equal(text(await store.get(key)), 'a');
  });

  test('of many that take a value, one gets it', async () => {
    const [store, key] = [given(), newKey()];
    await store.set(key, bytes('once'), LONG);
    const taken = await Promise.all(Array.from({ length: 10 }, () => store.take(key)));
    assert.deepEqual(taken.filter(Boolean).map(text), ['once']);
  });

  test('a value ends with its life, unless it is touched', async () => {
    const [store, short, touched] = [given(), newKey(), newKey()];
    await store.set(short, bytes('x'), 30);
    await store.set(touched, bytes('x'), 30);
    assert.equal(await store.touch(touched, LONG), true);
    await until('the end', async () => ((await store.get(short)) === undefined ? true : undefined), { intervalMs: 5 });
    assert.equal(await store.touch(short, LONG), false);
    assert.equal(await store.setIfAbsent(short, bytes('y'), LONG), true);
    assert.equal(text(await store.get(touched)), 'x');
  });

  test('an empty value is a value', async () => {
    const [store, key] = [given(), newKey()];
    await store.set(key, bytes(''), LONG);
    assert.equal(text(await store.get(key)), '');
    assert.equal(await store.setIfAbsent(key, bytes('x'), LONG), false);
    assert.equal(text(await store.take(key)), '');
    assert.equal(await store.take(key), undefined);
  });

  test('a value that is written anew has a new life, one that stays has its own', async () => {
    const [store, renewed, kept] = [given(), newKey(), newKey()];
    // At once, so that a machine under load does not let the first life end before.
    await Promise.all([store.set(kept, bytes('x'), SHORT), store.setIfAbsent(kept, bytes('y'), LONG)]);
    await Promise.all([store.set(renewed, bytes('x'), SHORT), store.set(renewed, bytes('y'), LONG)]);
    await until('the end', async () => ((await store.get(kept)) === undefined ? true : undefined), soon);
    assert.equal(text(await store.get(renewed)), 'y');
  });

  test('a value that has ended is gone for every call, the first one too', async () => {
    const [store, last] = [given(), newKey()];
    const [deleted, taken, touched, set] = [newKey(), newKey(), newKey(), newKey()] as const;
    for (const key of [deleted, taken, touched, set, last]) await store.set(key, bytes('x'), SHORT);
    await until('the end', async () => ((await store.get(last)) === undefined ? true : undefined), soon);
    assert.equal(await store.delete(deleted), false);
    assert.equal(await store.take(taken), undefined);
    assert.equal(await store.touch(touched, LONG), false);
    assert.equal(await store.setIfAbsent(set, bytes('y'), LONG), true);
  });

  test('what was given and what came back belongs to the caller', async () => {
    const [store, key] = [given(), newKey()];
    const value = bytes('as it was');
    await store.set(key, value, LONG);
    value.fill('x');
    (await store.get(key))?.fill('y');
    assert.equal(text(await store.get(key)), 'as it was');
  });
};
