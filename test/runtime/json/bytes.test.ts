import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  checkEncoding,
  JsonSyntaxError,
  readArray,
  readObject,
  readString,
  skipSpace,
  skipValue,
  splice,
} from '../../../runtime/json/bytes.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const isWholeValue = (text: string): boolean => {
  const bytes = Buffer.from(text);
  try {
    return skipSpace(bytes, skipValue(bytes, skipSpace(bytes, 0))) === bytes.length;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
};

test('every JSON value is read to its end', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
      assert.equal(isWholeValue(JSON.stringify(value, null, indent)), true);
    }),
  );
});

test('what JSON.parse takes is taken, what it refuses is refused, also after a byte was damaged', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: 'grapheme-ascii' }),
      fc.nat(),
      fc.constantFrom(...Array.from('{}[]",:0-1eE.tn \\')),
      (value, at, byte) => {
        const text = JSON.stringify(value);
        const damaged = text.slice(0, at % text.length) + byte + text.slice((at % text.length) + 1);
        assert.equal(isWholeValue(damaged), isJson(damaged), damaged);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('a string is judged like JSON.parse judges it, however long, wherever the odd piece lies', () => {
  const pieces = [
    '\\q',
    '\\u12',
    '\\u12g4',
    '\\uD800',
    '\\u00fC',
    '\\x41',
    '\\/',
    '\\b\\f\\n\\r\\t',
    '\\',
    '\n',
    '\u0000',
    '\u001f',
    ' ',
    '\u007f',
    'é',
    '"',
  ];
  fc.assert(
    fc.property(fc.nat(300), fc.constantFrom(...pieces), fc.nat(9), fc.nat(3), (before, piece, after, offset) => {
      const text = `"${'a'.repeat(before)}${piece}${'z'.repeat(after)}"`;
      // Wherever the text begins in memory.
      const bytes = Buffer.from(' '.repeat(offset) + text).subarray(offset);
      let end = -1;
      try {
        end = skipValue(bytes, 0);
      } catch (error) {
        assert.ok(error instanceof JsonSyntaxError);
      }
      assert.equal(end === bytes.length, isJson(text), text);
    }),
    { numRuns: 5_000 },
  );
});

test('what is not UTF-8 is not JSON', () => {
  checkEncoding(Buffer.from('"é"'));
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
  ]) {
    assert.throws(() => checkEncoding(Buffer.from(bytes)), JsonSyntaxError);
  }
});

for (const text of [
  '',
  ' ',
  '{',
  '[1,]',
  '{"a":}',
  '{"a"}',
  '01',
  '1.',
  '-',
  '1e',
  'tru',
  'nulls',
  '"a',
  '"a\\"',
  '"a\n"',
  '[1 2]',
  '{"a":1,}',
  '1 2',
]) {
  test(`${JSON.stringify(text)} is not JSON`, () => assert.equal(isWholeValue(text), false));
}

test('long strings end at their own quote, not at an escaped one', () => {
  for (const filler of [10, 63, 64, 65, 200]) {
    for (const tail of ['', '\\"', '\\\\', '\\\\\\"x', '"'.replace('"', '\\"\\"')]) {
      const text = `"${'a'.repeat(filler)}${tail}"`;
      assert.equal(skipValue(Buffer.from(`${text},`), 0), text.length);
    }
  }
});

test('members are found with their decoded keys, whatever the order and white space', () => {
  const bytes = Buffer.from(' { "\\u0061" : [1, {"x":2}] , "b":"\\u00fc" } ');
  const found: Record<string, string> = {};
  readObject(bytes, 1, (key, at) => {
    const end = skipValue(bytes, at);
    found[key] = bytes.toString('utf8', at, end);
    return end;
  });
  assert.deepEqual(found, { a: '[1, {"x":2}]', b: '"\\u00fc"' });
  assert.equal(readString(Buffer.from('"\\u00fc"'), { start: 0, end: 8 }), 'ü');
});

test('a key is read as JSON.parse reads it, however long, whatever known key it begins and ends like', () => {
  const known = ['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'name', 'arguments', '_meta'];
  const lengths = fc.oneof(fc.nat(40), fc.constantFrom(65_534, 65_535, 65_536, 131_071));
  fc.assert(
    fc.property(
      fc.constantFrom(...known),
      fc.integer({ min: -2, max: 9 }),
      lengths,
      fc.boolean(),
      (name, at, length, isEscaped) => {
        const key = `${name}${'X'.repeat(length)}${name.slice(at)}`;
        const written = isEscaped ? `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}` : key;
        const text = `{"${written}":1}`;
        const bytes = Buffer.from(text);
        const keys: string[] = [];
        readObject(bytes, 0, (read, valueAt) => {
          keys.push(read);
          return skipValue(bytes, valueAt);
        });
        assert.deepEqual(keys, Object.keys(JSON.parse(text) as object));
      },
    ),
    { numRuns: 500 },
  );
});

test('items of an array are visited in order', () => {
  const bytes = Buffer.from('[1, "two", [3]]');
  const items: string[] = [];
  readArray(bytes, 0, (at) => {
    const end = skipValue(bytes, at);
    items.push(bytes.toString('utf8', at, end));
    return end;
  });
  assert.deepEqual(items, ['1', '"two"', '[3]']);
});

test('nesting beyond any real message is refused instead of exhausting the stack', () => {
  assert.equal(isWholeValue('['.repeat(400) + ']'.repeat(400)), true);
  assert.equal(isWholeValue('['.repeat(100_000) + ']'.repeat(100_000)), false);
  assert.equal(isWholeValue('{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)), false);
});

test('a splice leaves the bytes around it alone', () => {
  assert.equal(splice(Buffer.from('abcdef'), { start: 2, end: 4 }, Buffer.from('XYZ')).toString(), 'abXYZef');
});
