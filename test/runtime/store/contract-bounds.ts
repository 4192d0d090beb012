import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_LIMITS, type Store } from '../../../runtime/store/store.ts';
import { bytes, CALLS, type Given, LONG } from './given-store.ts';
import { hasCode } from './has-code.ts';

const isOurFault = hasCode('internal');
const one = new Map([['a', bytes('1')]]);

export const boundsContract = ({ given, newKey, keyBytes }: Given): void => {
  test('what is out of bounds is refused before it is sent', async () => {
    const [store, key] = [given(), newKey()];
    const tooLarge = Buffer.alloc(STORE_LIMITS.valueBytes + 1);
    await assert.rejects(store.set(key, tooLarge, LONG), hasCode('internal'));
    await assert.rejects(store.set('k'.repeat(600), bytes('x'), LONG), hasCode('internal'));
    await assert.rejects(store.set(key, bytes('x'), 0), hasCode('internal'));
    await assert.rejects(store.publish(key, Buffer.alloc(STORE_LIMITS.messageBytes + 1)), hasCode('internal'));
    assert.equal(await store.get(key), undefined);
  });

  test('every call takes a key of as many bytes as are allowed, and none that is longer', async () => {
    const store = given();
    for (const [name, call] of Object.entries(CALLS)) {
      const head = `${name}:é:`;
      const longest = head.padEnd(keyBytes - 1, 'k');
      assert.equal(Buffer.byteLength(longest), keyBytes);
      await call(store, longest);
      await assert.rejects(call(store, `${longest}k`), isOurFault, name);
    }
    const longest = 'channel:'.padEnd(keyBytes, 'k');
    const subscription = store.subscribe(longest, () => {});
    await subscription.isLive;
    subscription.end();
    assert.throws(() => store.subscribe(`${longest}k`, () => {}), isOurFault);
  });

  test('a room has a name as long as a key', async () => {
    const [store, key] = [given(), newKey()];
    const room = { name: `{${key}}`.padEnd(keyBytes + 1, 'r'), limit: 1 };
    await assert.rejects(store.createMap(`{${key}}`, one, LONG, room), isOurFault);
    await assert.rejects(store.touch(`{${key}}`, LONG, room), isOurFault);
    await assert.rejects(store.readMap(`{${key}}`, LONG, room), isOurFault);
    await assert.rejects(store.delete(`{${key}}`, room), isOurFault);
  });

  test('a name that is no Unicode text is refused: it would become that of another', async () => {
    const [store, key] = [given(), newKey()];
    for (const [name, call] of Object.entries(CALLS))
      await assert.rejects(call(store, `${key}\ud800`), isOurFault, name);
    await store.createMap(key, one, LONG);
    await assert.rejects(store.setField(key, '\udc00', bytes('1')), isOurFault);
  });

  test('a field has a name as long as is allowed', async () => {
    const [store, key] = [given(), newKey()];
    const longest = 'é'.repeat(STORE_LIMITS.fieldBytes / 2);
    assert.equal(await store.createMap(key, new Map([[longest, bytes('1')]]), LONG), true);
    assert.equal(await store.setField(key, longest, bytes('2')), true);
    const tooLong = `${longest}k`;
    await assert.rejects(store.createMap(newKey(), new Map([[tooLong, bytes('1')]]), LONG), isOurFault);
    await assert.rejects(store.setField(key, tooLong, bytes('1')), isOurFault);
    await assert.rejects(store.setFieldIfAbsent(key, tooLong, bytes('1')), isOurFault);
    await assert.rejects(store.replaceField(key, tooLong, bytes('1'), bytes('2')), isOurFault);
    await assert.rejects(store.deleteField(key, tooLong), isOurFault);
  });

  const WRITES: Readonly<Record<string, (store: Store, key: string, value: Buffer) => Promise<unknown>>> = {
    set: (store, key, value) => store.set(key, value, LONG),
    setIfAbsent: (store, key, value) => store.setIfAbsent(key, value, LONG),
    createMap: (store, key, value) => store.createMap(key, new Map([['a', value]]), LONG),
    setField: (store, key, value) => store.setField(key, 'a', value),
    setFieldIfAbsent: (store, key, value) => store.setFieldIfAbsent(key, 'b', value),
    replaceField: (store, key, value) => store.replaceField(key, 'a', Buffer.from(''), value),
  };

  test('values and fields are as large as is allowed, and no larger', async () => {
    const store = given();
    const largest = Buffer.alloc(STORE_LIMITS.valueBytes, 'x');
    const tooLarge = Buffer.alloc(STORE_LIMITS.valueBytes + 1, 'x');
    for (const [name, write] of Object.entries(WRITES)) {
      const key = newKey();
      if (name.startsWith('setField')) await store.createMap(key, one, LONG);
      if (name === 'replaceField') await store.createMap(key, new Map([['a', Buffer.from('')]]), LONG);
      await assert.rejects(write(store, key, tooLarge), isOurFault, name);
      await write(store, key, largest);
      const { a, b } = Object.fromEntries((await store.readMap(key)) ?? []);
      const kept = (await store.get(key)) ?? b ?? a;
      assert.ok(kept?.equals(largest), name);
    }
  });

  const LIVES: Readonly<Record<string, (store: Store, key: string, ttlMs: number) => Promise<unknown>>> = {
    set: (store, key, ttlMs) => store.set(key, bytes('x'), ttlMs),
    setIfAbsent: (store, key, ttlMs) => store.setIfAbsent(key, bytes('x'), ttlMs),
    touch: (store, key, ttlMs) => store.touch(key, ttlMs),
    createMap: (store, key, ttlMs) => store.createMap(key, one, ttlMs),
    readMap: (store, key, ttlMs) => store.readMap(key, ttlMs),
  };

  test('a life is a millisecond at least, a year and a day at most, and of any length between', async () => {
    const [store, map] = [given(), newKey()];
    await store.createMap(map, one, LONG);
    for (const [name, call] of Object.entries(LIVES)) {
      for (const ttlMs of [0, -1, 0.5, Number.NaN, Infinity, STORE_LIMITS.ttlMs + 1]) {
        await assert.rejects(call(store, newKey(), ttlMs), isOurFault, `${name} ${ttlMs}`);
        await assert.rejects(call(store, map, ttlMs), isOurFault, `${name} ${ttlMs}`);
      }
      for (const ttlMs of [STORE_LIMITS.ttlMs, LONG + 0.5]) await call(store, newKey(), ttlMs);
    }
    assert.equal((await store.readMap(map))?.size, 1);
  });

  test('a map has a field at least, and no more than are allowed', async () => {
    const [store, key] = [given(), newKey()];
    await assert.rejects(store.createMap(key, new Map(), LONG), isOurFault);
    const many = Array.from({ length: STORE_LIMITS.fields + 1 }, (_, at) => [`f${at}`, bytes('')] as const);
    await assert.rejects(store.createMap(key, new Map(many), LONG), hasCode('overloaded'));
    assert.equal(await store.readMap(key), undefined);
  });
};
