import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CallStream } from '../../../../runtime/backends/messages/call-stream.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { silentClient } from '../../../fixtures/silent-client.ts';

const noAnswer = () => Promise.reject(new VmcpError('client_cannot_answer', 'no'));
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const make = () => {
  const replies: string[] = [];
  let taken: (() => void)[] = [];
  let heard = 0;
  const stream = new CallStream({
    backend: 'a',
    id: Buffer.from('7'),
    idleTimeout: { refresh: () => (heard += 1), pause: () => () => {} },
    client: silentClient({ ask: noAnswer }),
    reply: (response) => {
      replies.push(response.toString());
      return new Promise((resolve) => taken.push(resolve));
    },
  });
  const hear = (text: string) => stream.receive(Buffer.from(text));
  /** The backend takes every reply that is under way. */
  const take = async (): Promise<void> => {
    for (const each of taken) each();
    taken = [];
    await settled();
  };
  return { replies, hear, take, heard: () => heard };
};

const ping = (id: number | string): string => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' });
const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}';
const isRefusal = (what: RegExp) => (error: unknown) => error instanceof VmcpError && what.test(error.message);

describe('on the stream of a call', () => {
  test('the answer is the response with the id of the call', () => {
    const { hear } = make();
    assert.equal(hear(PROGRESS), 'other');
    assert.equal(hear('{"jsonrpc":"2.0","id":8,"result":{}}'), 'other');
    assert.equal(hear('{"jsonrpc":"2.0","id":7.0,"result":{}}'), 'answer');
  });

  test('notifications and requests are signs of work, foreign answers are not', () => {
    const { hear, heard } = make();
    hear('{"jsonrpc":"2.0","id":8,"result":{}}');
    assert.equal(heard(), 0);
    hear(PROGRESS);
    hear(ping(1));
    assert.equal(heard(), 2);
  });

  test('a ping is answered, what a client cannot answer or no server may ask is refused', async () => {
    const { hear, replies } = make();
    hear(ping('p'));
    hear('{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}');
    hear('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}');
    await settled();
    assert.deepEqual(replies.toSorted(), [
      '{"jsonrpc":"2.0","id":"p","result":{}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not supported"}}',
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"not supported"}}',
    ]);
  });

  test('a backend that asks on without taking answers ends its call', async () => {
    const { hear, replies, take } = make();
    for (let id = 0; id < 32; id += 1) hear(ping(id));
    await settled();
    await take();
    for (let id = 32; id < 64; id += 1) hear(ping(id));
    assert.throws(() => hear(ping(64)), isRefusal(/without taking answers/));
    await settled();
    assert.equal(replies.length, 64);
  });

  test('more messages than any real call has end it', () => {
    const { hear } = make();
    for (let sent = 0; sent < 100_000; sent += 1) hear(PROGRESS);
    assert.throws(() => hear(PROGRESS), isRefusal(/too much/));
  });

  for (const [what, id] of [
    ['too long', JSON.stringify('x'.repeat(255))],
    ['an object', '{}'],
    ['null', 'null'],
  ] as const) {
    test(`a request whose id is ${what} is not answered`, () => {
      const { hear, replies } = make();
      assert.throws(() => hear(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`), isRefusal(/not JSON-RPC/));
      assert.deepEqual(replies, []);
    });
  }
});
