import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { User } from '../../../../runtime/call/caller.ts';
import { FailureBudget } from '../../../../runtime/gate/authenticate/failure-budget.ts';
import { type KnownUser, TokenCache, tokenKey } from '../../../../runtime/gate/authenticate/token-cache.ts';
import { invalid } from '../../../../runtime/gate/authenticate/verdict.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { verifierOf } from './verifiers.ts';

const known = (user: User): KnownUser => ({ kind: 'user', user, verifier: verifierOf('https://idp.example') });

suite('the cache of tokens', () => {
  test('keeps as many as it may, and forgets those that were used longest ago', () => {
    const cache = new TokenCache({ count: 2, bytes: 1_000_000 });
    cache.setValid('a', known(userOf('a')), 0);
    cache.setValid('b', known(userOf('b')), 0);
    cache.get('a', 0);
    cache.setValid('c', known(userOf('c')), 0);
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => cache.get(key, 0) !== undefined),
      [true, false, true],
    );
  });

  test('counts bytes, claims included', () => {
    const cache = new TokenCache({ count: 100, bytes: 30_000 });
    for (let i = 0; i < 10; i += 1)
      cache.setValid(String(i), known(userOf('a', { claims: { groups: 'x'.repeat(2_000) } })), 0);
    const kept = Array.from({ length: 10 }, (_, i) => cache.get(String(i), 0)).filter((each) => each !== undefined);
    assert.ok(kept.length > 0 && kept.length <= 5, String(kept.length));
  });

  test('bad tokens drive out no good one', () => {
    const cache = new TokenCache({ count: 2, bytes: 1_000_000 });
    cache.setValid('good', known(userOf('a')), 0);
    for (let i = 0; i < 1_000; i += 1) cache.setRefused(`bad-${i}`, invalid('malformed', 'bad'), 0);
    assert.equal(cache.get('good', 0)?.kind, 'user');
  });

  test('under other keys of the issuer tokens are checked anew, and known for having been valid', () => {
    const cache = new TokenCache({ count: 2, bytes: 1_000_000 });
    cache.setValid('good', known(userOf('a')), 0);
    cache.clear();
    assert.deepEqual([cache.get('good', 0), cache.wasValid('good'), cache.wasValid('other')], [undefined, true, false]);
    cache.setRefused('good', invalid('malformed', 'bad'), 0);
    assert.equal(cache.wasValid('good'), false);
  });

  test('keeps under other settings what a verifier that stays in force has found, and no refusal', () => {
    const cache = new TokenCache({ count: 9, bytes: 1_000_000 });
    const [gone, kept] = [known(userOf('a')), known(userOf('b'))];
    cache.setValid('gone', gone, 0);
    cache.setValid('kept', kept, 0);
    cache.setRefused('bad', invalid('wrong_audience', 'bad'), 0);
    cache.retain((verifier) => verifier === kept.verifier);
    assert.deepEqual(cache.size, { valid: 1, refused: 0 });
    assert.equal(cache.get('kept', 0), kept);
    assert.deepEqual([cache.get('gone', 0), cache.wasValid('gone')], [undefined, true]);
  });

  test('a token that ends like a known one is another one, and so is one that begins like it', () => {
    const cache = new TokenCache({ count: 9, bytes: 1_000_000 });
    const token = `a.b.${'c'.repeat(60)}`;
    const key = tokenKey(token);
    cache.setValid(key, known(userOf('a', { token })), 0);
    for (const each of [token, `x${token.slice(1)}`, token.slice(-48), `${token}c`, token.slice(0, -1), ''])
      assert.equal(cache.keyOf(each), tokenKey(each));
    assert.equal(cache.keyOf(token), key);
    const other = `z${token.slice(1)}`;
    cache.setValid(tokenKey(other), known(userOf('b', { token: other })), 0);
    assert.deepEqual(
      [token, other].map((each) => cache.get(cache.keyOf(each), 0)?.kind),
      ['user', 'user'],
    );
  });

  test('a key is a digest, which says nothing about the token and is of one length', () => {
    assert.notEqual(tokenKey('a'), tokenKey('aa'));
    assert.equal(tokenKey('a').length, tokenKey('a'.repeat(10_000)).length);
  });
});

suite('the budget of refused tokens', () => {
  const bounds = { burst: 10, refillMs: 1_000, addresses: 2 };

  test('comes back with time, evenly', () => {
    const budget = new FailureBudget(bounds);
    for (let i = 0; i < 100; i += 1) budget.spend('192.0.2.1', 0);
    assert.equal(budget.has('192.0.2.1', 99), true);
    assert.equal(budget.has('192.0.2.1', 0), false);
    for (let i = 0; i < 10; i += 1) budget.spend('192.0.2.1', 1_000);
    assert.equal(budget.has('192.0.2.1', 1_000), false);
    assert.equal(budget.has('192.0.2.1', 1_100), true);
  });

  test('is one for the whole network of an IPv6 address, and none for the neighbours', () => {
    const budget = new FailureBudget(bounds);
    for (let i = 0; i < 10; i += 1) budget.spend(`2001:db8:1:2::${i}`, 0);
    assert.equal(budget.has('2001:db8:1:2:ffff::1', 0), false);
    assert.equal(budget.has('2001:db8:1:3::1', 0), true);
  });

  test('remembers a bounded number of addresses', () => {
    const budget = new FailureBudget(bounds);
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      for (let i = 0; i < 10; i += 1) budget.spend(address, 0);
    assert.deepEqual(
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => budget.has(address, 0)),
      [true, false, false],
    );
  });
});
