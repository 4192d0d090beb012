import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { EventReader, ResponseTooLargeError } from '../../../../runtime/backends/http/event-reader.ts';

/** The messages of a stream that arrives in these pieces. */
const read = (pieces: readonly string[], maxBytes = 10_000): string[] => {
  const messages: string[] = [];
  const reader = new EventReader(maxBytes, (data) => messages.push(data.toString()));
  for (const piece of pieces) reader.push(Buffer.from(piece));
  return messages;
};

const rows: readonly (readonly [string, string, readonly string[]])[] = [
  ['one line of data is a message', 'data: {"a":1}\n\n', ['{"a":1}']],
  ['a message may be named so', 'event: message\ndata:x\n\n', ['x']],
  ['other events are left out', 'event: ping\ndata: x\n\ndata: y\n\n', ['y']],
  ['lines of data are joined by line feeds', 'data: {\ndata: "a":1\ndata: }\n\n', ['{\n"a":1\n}']],
  ['an empty line of data counts', 'data: a\ndata\ndata: b\n\n', ['a\n\nb']],
  ['an event that begins with an empty line of data', 'data\ndata: b\n\n', ['\nb']],
  ['comments, ids and unknown fields mean nothing', ': c\nid: 7\nretry: 1\ndatabase: x\ndata: y\n\n', ['y']],
  ['an event without data is none', 'event: message\n\ndata:\n\n', []],
  ['what is not ended is no event', 'data: x\n', []],
];

describe('an event stream', () => {
  test('gives events of other types with their names', () => {
    const others: string[] = [];
    const reader = new EventReader(
      1_000,
      () => {},
      (type, data) => others.push(`${type} ${data.toString()}`),
    );
    reader.push(Buffer.from('event: endpoint\ndata: /x\n\ndata: a message\n\nevent: empty\n\n'));
    assert.deepEqual(others, ['endpoint /x']);
  });

  for (const [what, text, messages] of rows) {
    test(what, () => {
      for (const end of ['\n', '\r\n', '\r']) {
        const stream = text.replaceAll('\n', end);
        assert.deepEqual(read([stream]), messages, JSON.stringify(end));
        assert.deepEqual(read(Array.from(stream)), messages, `${JSON.stringify(end)}, one character at a time`);
      }
    });
  }

  test('reads the same however it is cut', () => {
    const text = 'data: {"a":\r\ndata: 1}\r\n\r\nevent: x\ndata: no\n\ndata: ü\n\n';
    const whole = read([text]);
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        assert.deepEqual(read(at.slice(1).map((end, index) => text.slice(at[index], end))), whole);
      }),
    );
  });

  test('an event above the bound is refused, whatever it is made of', () => {
    for (const filler of ['data: xxxxxxxxx\n', 'data\n', ':\n', 'x', 'id: 1\n']) {
      const pieces = Array.from({ length: 1_000 }, () => filler.repeat(20));
      assert.throws(() => read(pieces, 5_000), ResponseTooLargeError, filler);
    }
    assert.deepEqual(read(['data: x\n\n'.repeat(2_000)], 100).length, 2_000);
  });

  test('many empty lines cost no more than their bytes', () => {
    const reader = new EventReader(64 * 1024 * 1024, () => {});
    const piece = Buffer.from('data\n'.repeat(200_000));
    const before = process.memoryUsage();
    for (let sent = 0; sent < 10; sent += 1) reader.push(piece);
    const after = process.memoryUsage();
    const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    assert.ok(grown < 100_000_000, `${grown} bytes for ${10 * piece.length}`);
  });
});
