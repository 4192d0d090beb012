import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { canonicalJson } from '../../../operator/plan/canonical.ts';
import { jsonValue } from '../../fixtures/json-values.ts';

test('the text says what JSON says, and the order of keys makes no difference', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, each]) => [key, reversed(each)]),
    );
  };
  fc.assert(
    fc.property(jsonValue({ noUnicodeString: false }), (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
      assert.equal(canonicalJson(reversed(value)), canonicalJson(value));
    }),
  );
  assert.equal(canonicalJson({ b: [undefined], a: undefined, 10: 1, 9: 2 }), '{"10":1,"9":2,"b":[null]}');
});
