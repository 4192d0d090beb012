import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { WholeBody } from '../../../runtime/http/whole-body.ts';

/** In memory of its own, as what a socket has read is. */
const read = (text: string): Buffer => Buffer.from(new TextEncoder().encode(text).buffer);

test('one piece is kept as it came', async () => {
  const body = new WholeBody();
  const piece = read('all of it');
  body.append(piece, '9');
  assert.equal(body.take(), piece);
  await turn();
  assert.equal(piece.toString(), 'all of it');
});

test('the memory of pieces that were copied is given back, of the last one after the turn', async () => {
  const body = new WholeBody();
  const [a, b] = [read('a'.repeat(100)), read('b'.repeat(50))];
  body.append(a, '150');
  body.append(b, '150');
  assert.deepEqual([a.length, b.length], [0, 50]);
  const whole = body.take();
  assert.equal(b.length, 50);
  await turn();
  assert.equal(b.length, 0);
  assert.equal(whole.toString(), 'a'.repeat(100) + 'b'.repeat(50));
  assert.equal(body.length, 0);
});

test('several pieces of what was read at once are all there', async () => {
  const body = new WholeBody();
  const at = read('chunk 1|chunk 2|chunk 3');
  for (const [start, end] of [
    [0, 14],
    [8, 16],
    [16, 23],
  ])
    body.append(at.subarray(start, end), undefined);
  assert.equal(body.take().toString(), 'chunk 1|chunk chunk 2|chunk 3');
  await turn();
  assert.equal(at.toString(), 'chunk 1|chunk 2|chunk 3');
});

test('memory that small buffers share stays', async () => {
  const body = new WholeBody();
  // The longest slices of the pool that there are.
  const pieces = Array.from({ length: 20 }, () => Buffer.allocUnsafe((Buffer.poolSize >>> 1) - 1));
  const neighbour = Buffer.from('a neighbour');
  for (const piece of pieces) body.append(piece, undefined);
  body.take();
  await turn();
  assert.equal(neighbour.toString(), 'a neighbour');
  assert.ok(pieces.every((piece) => piece.length > 0));
});

test('what is dropped is forgotten', () => {
  const body = new WholeBody();
  body.append(read('a'), undefined);
  body.append(read('b'), undefined);
  body.drop();
  body.append(read('c'), undefined);
  assert.equal(body.take().toString(), 'c');
});
