import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectIn } from '../../../runtime/json/index.ts';

test('a text that holds a JSON object is that object, whether bytes or characters', () => {
  assert.deepEqual(objectIn('{"a":{"b":[1]}}'), { a: { b: [1] } });
  assert.deepEqual(objectIn(Buffer.from('{}')), {});
});

test('any other text is none: other values, and what is no JSON', () => {
  for (const text of ['[]', 'null', '"a"', '1', 'true', '', '{', '{"a":1} x', '<a/>'])
    assert.equal(objectIn(text), undefined, text);
});
