import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { inUseMarks, MAX_MARKS } from '../../../../runtime/auth-server/clients/in-use-marks.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const DAY = 24 * 3_600_000;
const urlOf = (n: number): string => `https://client-${n}.example/client.json`;

/** A store, and processes that start over it. */
const given = () => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  const calls: string[] = [];
  const seen: Pick<Store, 'createMap' | 'setField' | 'touch' | 'readMap'> = {
    setField: store.setField,
    createMap: (...how) => {
      calls.push('createMap');
      return store.createMap(...how);
    },
    touch: (...how) => {
      calls.push('touch');
      return store.touch(...how);
    },
    readMap: store.readMap,
  };
  return { clock, store, calls, process: () => inUseMarks({ store: seen, clock }) };
};

test('a client in use is known as such to another process, and to this one without asking', async () => {
  const { process } = given();
  const first = process();
  first.mark(urlOf(1));
  assert.equal(first.isKnown(urlOf(1)), true);
  await settled();
  const second = process();
  assert.deepEqual([second.isKnown(urlOf(1)), await second.isMarked(urlOf(1))], [false, true]);
  assert.equal(second.isKnown(urlOf(1)), true);
  assert.deepEqual([await second.isMarked(urlOf(2)), second.isKnown(urlOf(2))], [false, false]);
});

test('a mark is written once a day, and ends thirty days after the last use', async () => {
  const { process, clock, calls } = given();
  const marks = process();
  for (let n = 0; n < 100; n += 1) marks.mark(urlOf(1));
  await settled();
  assert.deepEqual(calls, ['createMap']);
  clock.advance(DAY);
  marks.mark(urlOf(1));
  await settled();
  assert.deepEqual(calls, ['createMap', 'createMap', 'touch']);
  clock.advance(29 * DAY);
  assert.equal(await process().isMarked(urlOf(1)), true);
  clock.advance(DAY);
  assert.equal(await process().isMarked(urlOf(1)), false);
});

test('a mark is renewed by each use, also where the process starts anew every night', async () => {
  const { process, clock } = given();
  for (let day = 0; day < 40; day += 1) {
    const marks = process();
    assert.equal(await marks.isMarked(urlOf(1)), day > 0, `on day ${day}`);
    marks.mark(urlOf(1));
    await settled();
    clock.advance(DAY);
  }
  clock.advance(28 * DAY);
  assert.equal(await process().isMarked(urlOf(1)), true);
});

test('clients that are used on one day, at several replicas, make room for those of others', async () => {
  const { process, clock, calls } = given();
  const replicas = [process(), process(), process()];
  for (let n = 1; n <= MAX_MARKS; n += 1) for (const marks of replicas) marks.mark(urlOf(n));
  await settled();
  assert.equal(calls.includes('touch'), false);
  clock.advance(1);
  for (let n = 1; n <= MAX_MARKS; n += 1) process().mark(urlOf(-n));
  await settled();
  const later = process();
  const newer = await Promise.all(Array.from({ length: MAX_MARKS }, (_, n) => later.isMarked(urlOf(-n - 1))));
  assert.ok(newer.filter(Boolean).length > MAX_MARKS * 0.9);
});

test('so many clients are in use; those of one day make room for others, and those of two days do not', async () => {
  const { process, clock } = given();
  const marks = process();
  marks.mark(urlOf(0));
  clock.advance(DAY);
  marks.mark(urlOf(0));
  await settled();
  for (let n = 1; n <= 3 * MAX_MARKS; n += 1) {
    clock.advance(1);
    marks.mark(urlOf(n));
  }
  await settled();
  const later = process();
  const all = await Promise.all(Array.from({ length: 3 * MAX_MARKS + 1 }, (_, n) => later.isMarked(urlOf(n))));
  assert.equal(all[0], true);
  assert.equal(all.at(-1), true);
  const count = all.filter(Boolean).length;
  assert.ok(count <= MAX_MARKS + 16 && count > MAX_MARKS * 0.9, `${count}`);
});

test('a store that is away makes no client one in use, and a mark that was not kept is made at the next use', async () => {
  const { store, clock } = given();
  let isAway = true;
  const answer = <T>(work: () => Promise<T>): Promise<T> =>
    isAway ? Promise.reject(new Error('the store is away')) : work();
  const process = () =>
    inUseMarks({
      clock,
      store: {
        createMap: (...how) => answer(() => store.createMap(...how)),
        setField: (...how) => answer(() => store.setField(...how)),
        touch: (...how) => answer(() => store.touch(...how)),
        readMap: (...how) => answer(() => store.readMap(...how)),
      },
    });
  const marks = process();
  marks.mark(urlOf(1));
  await settled();
  assert.equal(await process().isMarked(urlOf(1)), false);
  isAway = false;
  marks.mark(urlOf(1));
  await settled();
  assert.equal(await process().isMarked(urlOf(1)), true);
});
