import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QuotaGroup, Store } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { bytes, type Given, LONG, SHORT, soon } from './given-store.ts';
import { hasCode } from './has-code.ts';

export const roomsContract = ({ given, newKey }: Given): void => {
  test('a room holds so many maps; one more displaces the oldest that was never touched, or is refused', async () => {
    const [store, tag] = [given(), newKey()];
    const room = { name: `room:{${tag}}`, limit: 2 };
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((each) => `{${tag}}:${each}`) as [string, string, string, string];
    const make = (key: string): Promise<boolean> => store.createMap(key, new Map([['a', bytes('1')]]), LONG, room);
    assert.deepEqual([await make(a), await make(a), await make(b)], [true, false, true]);
    assert.equal(await store.touch(a, LONG, room), true);
    assert.equal(await make(c), true);
    assert.deepEqual([await store.touch(a, LONG, room), await store.readMap(b, LONG, room)], [true, undefined]);
    assert.equal((await store.readMap(c, LONG, room))?.size, 1);
    await assert.rejects(make(d), hasCode('overloaded'));
    assert.equal(await store.readMap(d), undefined);
    assert.equal(await store.delete(a, room), true);
    assert.equal(await make(d), true);
  });

  test('a room that displaces none is full at its bound, until a map ends or is deleted', async () => {
    const { store, room, make, a, b, c } = roomOf(2);
    const where = { ...room, displacesNone: true } as const;
    assert.deepEqual([await make(a, SHORT, where), await make(b, LONG, where)], [true, true]);
    await until('an end', () => make(c, LONG, where).then(Boolean, () => undefined), soon);
    // Redis gives a place back from the millisecond on in which the map ends, and forgets the map after it.
    await until('no map', async () => ((await isThere(store, a)) ? undefined : true), soon);
    assert.deepEqual([await isThere(store, b), await isThere(store, c)], [true, true]);
    await assert.rejects(make(a, LONG, where), hasCode('overloaded'));
    assert.equal(await store.delete(b, where), true);
    assert.equal(await make(a, LONG, where), true);
  });

  test('a map that has ended gives back its place', async () => {
    const [store, tag] = [given(), newKey()];
    const room = { name: `room:{${tag}}`, limit: 1 };
    const make = (key: string, ttlMs: number): Promise<boolean> =>
      store.createMap(`{${tag}}:${key}`, new Map([['a', bytes('1')]]), ttlMs, room);
    await make('a', 30);
    await store.touch(`{${tag}}:a`, 30, room);
    await until('its place', () => make('b', LONG).then(Boolean, () => undefined), { intervalMs: 5 });
    assert.equal(await store.touch(`{${tag}}:b`, LONG, room), true);
    await assert.rejects(make('c', LONG), hasCode('overloaded'));
  });

  /** A room of its own, and how to make a map in it. */
  const roomOf = (limit: number) => {
    const [store, tag] = [given(), newKey()];
    const room: QuotaGroup = { name: `room:{${tag}}`, limit };
    const [a, b, c] = ['a', 'b', 'c'].map((each) => `{${tag}}:${each}`) as [string, string, string];
    const make = (key: string, ttlMs = LONG, where: QuotaGroup | undefined = room): Promise<boolean> =>
      store.createMap(key, new Map([['a', bytes('1')]]), ttlMs, where);
    return { store, room, make, a, b, c };
  };
  const isThere = async (store: Store, key: string): Promise<boolean> => (await store.readMap(key)) !== undefined;

  test('a full room displaces the map that ends first, though it came last', async () => {
    const { store, make, a, b, c } = roomOf(2);
    await make(a, LONG);
    await make(b, LONG / 2);
    assert.equal(await make(c, LONG), true);
    assert.deepEqual([await isThere(store, a), await isThere(store, b), await isThere(store, c)], [true, false, true]);
  });

  test('a map that is made again has its own place, whatever it left', async () => {
    const { store, room, make, a, b } = roomOf(1);
    await make(a);
    await store.delete(a);
    assert.equal(await make(a), true);
    assert.equal(await isThere(store, a), true);
    await store.touch(a, LONG, room);
    await store.deleteField(a, 'a');
    assert.equal(await make(a), true);
    assert.equal(await isThere(store, a), true);
    assert.equal(await make(b), true);
    assert.equal(await isThere(store, a), false);
  });

  test('a map that was used keeps its place when it goes without a word to the room', async () => {
    const { store, room, make, a, b } = roomOf(1);
    await make(a);
    await store.touch(a, LONG, room);
    await store.deleteField(a, 'a');
    await assert.rejects(make(b), hasCode('overloaded'));
    assert.equal(await store.delete(a, room), false);
    assert.equal(await make(b), true);
  });

  test('a map that is renewed without a word to the room loses its place, and lives', async () => {
    const { store, room, make, a, b } = roomOf(1);
    await make(a);
    // At once, so that a machine under load does not let the first life end before.
    await Promise.all([store.touch(a, SHORT, room), store.touch(a, LONG)]);
    await until('its place', () => make(b).then(Boolean, () => undefined), soon);
    assert.deepEqual([await isThere(store, a), await isThere(store, b)], [true, true]);
  });

  test('a map enters a room when its life is begun anew there', async () => {
    for (const how of ['touch', 'readMap'] as const) {
      const { store, room, make, a, b } = roomOf(1);
      await make(a, LONG, undefined);
      await store[how](a, LONG, room);
      await assert.rejects(make(b), hasCode('overloaded'));
      assert.equal(await isThere(store, a), true);
    }
  });

  test('what is not there, or is only read, enters no room', async () => {
    const { store, room, make, a, b, c } = roomOf(1);
    await make(a, LONG, undefined);
    await store.readMap(a, undefined, room);
    assert.equal(await store.touch(c, LONG, room), false);
    assert.equal(await store.readMap(c, LONG, room), undefined);
    assert.equal(await make(b), true);
    assert.equal(await store.touch(b, LONG, room), true);
  });

  test('a map that its room has no place for was never there', async () => {
    const { store, room, make, a, b } = roomOf(1);
    await make(a);
    await store.touch(a, LONG, room);
    await assert.rejects(make(b), hasCode('overloaded'));
    assert.equal(await store.setField(b, 'a', bytes('1')), false);
    assert.equal(await make(a), false);
    assert.equal(await store.createMap(b, new Map([['a', bytes('1')]]), LONG), true);
  });
};
