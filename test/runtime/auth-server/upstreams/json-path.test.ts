import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valueAt } from '../../../../runtime/auth-server/upstreams/json-path.ts';

const payload = (claims: unknown): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

const ANSWER = {
  user: { id: 'U1', 'full.name': 'Alice', '@type': 'person' },
  mails: [{ value: 'a@x' }, { value: 'b@x' }],
  token: payload({ sub: 'u-7', nested: { token: payload({ deep: true }) } }),
  none: null,
  '': 'empty',
};

const found: readonly (readonly [string, unknown])[] = [
  ['user.id', 'U1'],
  ['user|id', 'U1'],
  [String.raw`user.full\.name`, 'Alice'],
  [String.raw`user.\@type`, 'person'],
  ['mails.1.value', 'b@x'],
  ['token|@upstreamjwt|sub', 'u-7'],
  ['token.@upstreamjwt.nested.token.@upstreamjwt.deep', true],
  ['none', null],
  ['user', ANSWER.user],
];
for (const [path, value] of found)
  test(`${path} leads to ${JSON.stringify(value)}`, () => assert.deepEqual(valueAt(ANSWER, path), value));

const nowhere = [
  'users',
  'user.id.more',
  'none.more',
  'mails.2',
  'mails.-1',
  'mails.#',
  'mails.value',
  'user.full.name',
  'user.@type',
  'user|@reverse',
  'user|@upstreamjwt|sub',
  'mails|@upstreamjwt',
  'user.constructor',
  '__proto__.toString',
  'toString',
  'token.length',
  '.',
  '|',
  `${'user.'.repeat(40)}id`,
];
for (const path of nowhere)
  test(`${path.slice(0, 40)} leads nowhere`, () => assert.equal(valueAt(ANSWER, path), undefined));

test('what is no JWT has no payload', () => {
  for (const token of ['', 'a', 'a.b', 'a.!!.c', 'a.e30.c.d', 'a.e30.c.d.e', 7])
    assert.equal(valueAt({ token }, 'token|@upstreamjwt|sub'), undefined);
});
