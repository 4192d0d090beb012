import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { bytes, LONG, text } from './given-store.ts';
import { hasCode } from './has-code.ts';

const isFull = hasCode('overloaded');
const FEW = { entries: 2, bytes: 100_000 };
const map = new Map([['a', bytes('1')]]);

describe('a store in memory', () => {
  test('takes as many entries as it has room for, and another in place of one', async () => {
    const store = memoryStore({ clock: frozenClock() }, FEW);
    await store.set('a', bytes('1'), LONG);
    await store.createMap('b', map, LONG);
    await assert.rejects(store.set('c', bytes('1'), LONG), isFull);
    await store.set('b', bytes('2'), LONG);
    await store.delete('a');
    await store.set('c', bytes('3'), LONG);
    assert.deepEqual([text(await store.get('b')), text(await store.get('c'))], ['2', '3']);
  });

  test('takes as many bytes as it has room for, those of fields too', async () => {
    const store = memoryStore({ clock: frozenClock() }, FEW);
    const half = Buffer.alloc(FEW.bytes / 2 - 500);
    await store.createMap('map', map, LONG);
    await store.setField('map', 'half', half);
    await store.set('other', half, LONG);
    await assert.rejects(store.setField('map', 'more', half), isFull);
    assert.deepEqual([...((await store.readMap('map'))?.keys() ?? [])], ['a', 'half']);
    assert.equal(await store.deleteField('map', 'half'), true);
    assert.equal(await store.setField('map', 'more', half), true);
  });

  test('a map that there are no bytes for displaces none from its room', async () => {
    const store = memoryStore({ clock: frozenClock() }, FEW);
    const room = { name: 'room', limit: 1 };
    await store.createMap('a', map, LONG, room);
    await store.set('other', bytes('1'), LONG);
    await assert.rejects(store.createMap('b', map, LONG, room), isFull);
    assert.equal((await store.readMap('a'))?.size, 1);
    await store.delete('other');
    assert.equal(await store.createMap('b', map, LONG, room), true);
    assert.equal(await store.readMap('a'), undefined);
  });

  test('what has ended gives way, read or not', async () => {
    const clock = frozenClock();
    const store = memoryStore({ clock }, FEW);
    for (const key of ['a', 'b']) await store.set(key, bytes('1'), LONG);
    clock.advance(LONG - 1);
    await assert.rejects(store.set('c', bytes('1'), LONG), isFull);
    clock.advance(1);
    for (const key of ['c', 'd']) await store.set(key, bytes('1'), LONG);
  });

  test('holds no timer once it is closed', async () => {
    const clock = frozenClock();
    const store = memoryStore({ clock });
    clock.advance(10 * LONG);
    assert.equal(clock.pending().length, 1);
    await store.close();
    assert.deepEqual(clock.pending(), []);
  });
});
