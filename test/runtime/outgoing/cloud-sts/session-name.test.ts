import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { sessionNameOf } from '../../../../runtime/outgoing/cloud-sts/session-name.ts';

/** AWS STS API Reference, "AssumeRoleWithWebIdentity": `RoleSessionName`. */
const ALLOWED = /^[\w+=,.@-]{2,64}$/;

test('a value that is a session name is used as it is', () => {
  for (const name of ['al', 'alice', 'alice@example.com', 'a+b=c,d.e-f_g', 'x'.repeat(64)])
    assert.equal(sessionNameOf(name), name);
  assert.equal(sessionNameOf(4711), '4711');
});

test('any other value becomes one, and shows where it comes from', () => {
  assert.match(sessionNameOf('auth0|abc') ?? '', /^auth0-abc-[0-9a-f]{12}$/);
  assert.match(sessionNameOf('a') ?? '', /^a-[0-9a-f]{12}$/);
  assert.match(sessionNameOf(`https://idp.example/${'u'.repeat(80)}`) ?? '', /^https-.{45}-[0-9a-f]{12}$/);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => ALLOWED.test(sessionNameOf(text) ?? '')),
  );
});

test('different users have different names, also where only what is not allowed differs', () => {
  const users = ['a|b', 'a/b', 'a-b', 'a b', 'a:b', `${'x'.repeat(70)}1`, `${'x'.repeat(70)}2`];
  assert.equal(new Set(users.map(sessionNameOf)).size, users.length);
});

test('nobody is called as another user’s name with its digest', () => {
  const victim = sessionNameOf('auth0|abc') ?? '';
  assert.equal(victim, 'auth0-abc-c5d09a771633');
  assert.match(sessionNameOf(victim) ?? '', /^auth0-abc-c5d09a771633-[0-9a-f]{12}$/);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      const name = sessionNameOf(text) ?? '';
      return name === text || (sessionNameOf(name) !== name && ALLOWED.test(sessionNameOf(name) ?? ''));
    }),
  );
});

test('a UUID is used as it is, and no other value becomes one', () => {
  const uuid = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
  assert.equal(sessionNameOf(uuid), uuid);
  assert.match(sessionNameOf('1b4e28ba|2fa1|11d2|883f') ?? '', /^1b4e28ba-2fa1-11d2-883f--[0-9a-f]{12}$/);
});

test('what names nobody is no session name', () => {
  for (const nothing of [undefined, null, '', true, 1.5, NaN, 2 ** 60, ['a'], { a: 'b' }])
    assert.equal(sessionNameOf(nothing), undefined);
});
