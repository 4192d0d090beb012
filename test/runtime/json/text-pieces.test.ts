import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined, lengthOf, spliced, wholeOf } from '../../../runtime/json/text-pieces.ts';

const long = Buffer.alloc(100_000, 'x');
const short = Buffer.from('short');

test('short pieces become one text', () => {
  const text = joined([short, Buffer.from(' and '), short]);
  assert.ok(Buffer.isBuffer(text));
  assert.equal(text.toString(), 'short and short');
});

test('a long piece is not copied, and those beside it are joined', () => {
  const text = joined([short, short, long, short, short]);
  assert.ok('pieces' in text);
  assert.deepEqual(
    text.pieces.map(({ length }) => length),
    [10, 100_000, 10],
  );
  assert.equal(text.pieces[1], long);
  assert.equal(lengthOf(text), 100_020);
  assert.ok(wholeOf(text).equals(Buffer.concat([short, short, long, short, short])));
});

for (const before of ['', 'y', 'y'.repeat(40_000)]) {
  for (const behind of ['', 'z', 'z'.repeat(40_000)]) {
    test(`a replaced range with ${before.length} bytes before it and ${behind.length} behind`, () => {
      const bytes = Buffer.from(`${before}old${behind}`);
      const text = spliced(bytes, { start: before.length, end: before.length + 3 }, Buffer.from('replaced'));
      assert.equal(wholeOf(text).toString(), `${before}replaced${behind}`);
    });
  }
}
