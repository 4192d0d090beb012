import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ByteSemaphore } from '../../../operator/api/byte-semaphore.ts';

test('bodies are read in the order they came, as many as there is room for', async () => {
  const room = new ByteSemaphore(10, 3);
  const entered: string[] = [];
  const enter = (name: string, bytes: number): (() => void) => {
    const guest = room.acquire(bytes);
    assert.ok(guest);
    void guest.entered.then(() => entered.push(name));
    return guest.leave;
  };
  const [leaveA, leaveB] = [enter('a', 6), enter('b', 4)];
  const [leaveC, leaveD] = [enter('c', 7), enter('d', 3)];
  enter('e', 1);
  assert.equal(room.acquire(1), undefined, 'three wait');
  await turn();
  assert.deepEqual(entered, ['a', 'b']);
  // What there is room for waits behind what came before it.
  leaveB();
  await turn();
  assert.deepEqual(entered, ['a', 'b']);
  leaveC();
  await turn();
  assert.deepEqual(entered, ['a', 'b', 'd', 'e']);
  // Room that was given back is not given back again.
  for (const leave of [leaveA, leaveA, leaveC, leaveB, leaveD, leaveD]) leave();
  enter('f', 9);
  enter('g', 1);
  await turn();
  assert.deepEqual(entered, ['a', 'b', 'd', 'e', 'f']);
});
