import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { ByteBudget, Share } from '../../../runtime/process/byte-budget.ts';
import { readBody } from '../../../runtime/edge/body.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const clock = frozenClock();

const make = (budget: ByteBudget, headers: Record<string, string> = {}) => {
  const stream = Object.assign(new PassThrough(), { headers });
  const share = new Share(budget);
  const tooLarge = (): VmcpError => new VmcpError('body_too_large', 'too large');
  const bounds = { maxBytes: 1_000, tooLarge, uncountedBytes: 100, share, yieldsMs: 1_000, now: clock.now };
  const whole = { body: Buffer.alloc(0) };
  // Only what a request has of a stream, and its headers, are used.
  const read = readBody(stream as unknown as IncomingMessage, bounds, whole);
  return { stream, share, body: read.then(() => whole.body) };
};

const hasCode = (code: string) => (error: unknown) => error instanceof VmcpError && error.code === code;

describe('a request body', () => {
  test('comes whole, in one piece or many', async () => {
    for (const pieces of [[], ['abc'], ['a', 'b', 'c', 'd']]) {
      const { stream, body } = make(new ByteBudget(0));
      for (const piece of pieces) stream.write(piece);
      stream.end();
      assert.equal((await body).toString(), pieces.join(''));
    }
  });

  test('that is large needs room beside the others, a small one none', async () => {
    const budget = new ByteBudget(1_000);
    const first = make(budget);
    first.stream.end('x'.repeat(700));
    await first.body;
    const second = make(budget);
    second.stream.write('y'.repeat(400));
    await assert.rejects(second.body, hasCode('overloaded'));
    const small = make(budget);
    small.stream.end('z'.repeat(100));
    assert.equal((await small.body).length, 100);
    assert.equal(budget.taken, 700);
    first.share.release();
    assert.equal(budget.taken, 0);
  });

  test('that is too large is refused, announced or not, and holds no room', async () => {
    const budget = new ByteBudget(10_000);
    await assert.rejects(make(budget, { 'content-length': '1001' }).body, hasCode('body_too_large'));
    const { stream, body } = make(budget);
    stream.write('x'.repeat(600));
    stream.end('x'.repeat(600));
    await assert.rejects(body, hasCode('body_too_large'));
    assert.equal(budget.taken, 0);
  });
});
