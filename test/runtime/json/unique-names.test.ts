import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkUniqueNames, JsonSyntaxError, RepeatedNameError } from '../../../runtime/json/index.ts';

const check = (text: string) => () => checkUniqueNames(Buffer.from(text));

suite('names in an object are unique', () => {
  for (const text of ['{}', '7', '[{"a":1},{"a":2}]', ' {"a":{"a":{"b":[]}},"b":"a"} ', String.raw`{"\\":1,"/":2}`])
    test(`in ${text}`, () => assert.doesNotThrow(check(text)));

  for (const text of [
    '{"a":1,"a":1}',
    '{"b":{"a":1,"c":2,"a":3}}',
    '[[{"":1,"":2}]]',
    String.raw`{"a":1,"\u0061":2}`,
    String.raw`{"/":1,"\/":2}`,
  ])
    test(`not in ${text}`, () => assert.throws(check(text), RepeatedNameError));

  for (const text of ['', '{', '{}{}', '{"a":1} x', "{'a':1}", `${'['.repeat(40)}${']'.repeat(40)}`])
    test(`no JSON, or too deep: ${text}`, () => assert.throws(check(text), JsonSyntaxError));
});
