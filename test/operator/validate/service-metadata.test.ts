import assert from 'node:assert/strict';
import { test } from 'node:test';
import { server } from '../plan/plan-of-demo.ts';
import { toldOf } from './violation-texts.ts';

const told = (service: object): readonly string[] => toldOf(server({ config: { extensions: { service } } }));
const long = (length: number): string => 'a'.repeat(length);
const AT = 'spec.config.extensions.service';
const form =
  'write up to 63 letters, digits, -, _ and ., maybe behind a DNS domain and a slash, such as example.com/team';

const keys: readonly string[] = ['a', 'A.b_c-9', long(63), 'example.com/team', `${long(63)}.x/${long(63)}`];

test('keys that Kubernetes takes break no rule', () => {
  const texts = Object.fromEntries(keys.map((key) => [key, 'a']));
  assert.deepEqual(told({ labels: texts, annotations: { ...texts, 'Example.COM/Team': 'of annotations' } }), []);
});

const none: readonly string[] = ['', 'a b', '-a', 'a/', '/a', 'a/b/c', 'a..b/c', `x.${long(252)}/a`, long(64), 'a_b/c'];

for (const key of none) {
  test(`no key, reported with what to write: ${JSON.stringify(key)}`, () => {
    for (const [field, what] of [
      ['labels', 'a label'],
      ['annotations', 'an annotation'],
    ] as const) {
      const [only, ...more] = told({ [field]: { [key]: 'a' } });
      assert.deepEqual(more, []);
      assert.ok(only?.startsWith(`${AT}.${field}`) && only.endsWith(`: not a key of ${what}; ${form}`), only);
    }
  });
}

test('a label is in lower case before the slash, which an annotation need not be', () => {
  assert.equal(told({ labels: { 'Example.com/a': 'a' } }).length, 1);
});

test('annotations have a bound together, in bytes and with their keys', () => {
  const texts = (last: string) => ({ annotations: { a: '\u00e9'.repeat(32_000), b: last } });
  assert.deepEqual(told(texts(long(65_536 - 64_000 - 2))), []);
  assert.deepEqual(told(texts(long(65_536 - 64_000 - 1))), [
    `${AT}.annotations: must have at most 65536 bytes in all, keys included; shorten the values, or remove some`,
  ]);
});
