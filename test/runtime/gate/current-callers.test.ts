import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Caller, User } from '../../../runtime/call/caller.ts';
import type { RequestHead } from '../../../runtime/call/inbound.ts';
import { CurrentCallers, rememberCallers } from '../../../runtime/gate/index.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';

const NOW = 1_000_000;

/** A token of alice, by the time at which it ends. */
const until = (expiresAt: number | undefined, client = 'app'): User =>
  userOf('alice', { token: `${client} until ${expiresAt}`, expiresAt, claims: { client_id: client } });

const make = (limit = 10) => {
  let now = NOW;
  const callers = new CurrentCallers({ now: () => now, limit });
  return { callers, advance: (ms: number) => void (now += ms) };
};

describe('what is sent outside of a request is sent for', () => {
  test('whoever it began with, while their token lasts', () => {
    const { callers } = make();
    const [first, second] = [until(NOW + 10), until(NOW + 20)];
    callers.note(second);
    assert.equal(callers.current(first), first);
  });

  test('the same user and client with the token that was presented last, once it has ended', () => {
    const { callers, advance } = make();
    const [first, second, third] = [until(NOW + 10), until(NOW + 1_000), until(NOW + 500)];
    for (const each of [first, second, third, until(NOW + 2_000, 'another')]) callers.note(each);
    advance(30);
    assert.equal(callers.current(first), third, 'the second one lasts longer, and may have more rights');
  });

  test('the token that was presented last, once theirs was refused', () => {
    const { callers } = make();
    let isRevoked = false;
    const first: User = { ...until(NOW + 1_000), isWithdrawn: () => isRevoked };
    callers.note(first);
    assert.equal(callers.current(first), first);
    isRevoked = true;
    assert.throws(() => callers.current(first), hasCode('credential_unavailable'));
    const second = until(NOW + 20);
    callers.note(second);
    assert.equal(callers.current(first), second);
  });

  test('the newest token, where one does not tell when it ends', () => {
    const { callers } = make();
    const [first, second] = [until(undefined), { ...until(undefined), token: 'newer' }];
    for (const each of [first, second]) callers.note(each);
    assert.equal(callers.current(first), second);
  });

  test('nobody, once all tokens of the client have ended', () => {
    const { callers, advance } = make();
    const first = until(NOW + 10);
    callers.note(first);
    callers.note(until(NOW + 1_000, 'another'));
    advance(10);
    assert.throws(() => callers.current(first), hasCode('credential_unavailable'));
  });

  test('nobody else: not the same subject of another issuer, nor another client by whatever claim names it', () => {
    const { callers, advance } = make();
    const claims = { azp: 'app' };
    const first = userOf('alice', { expiresAt: NOW + 10, claims });
    callers.note(first);
    callers.note({ ...first, issuer: 'https://other.example', expiresAt: NOW + 1_000 });
    callers.note({ ...first, claims: { azp: 'another' }, expiresAt: NOW + 1_000 });
    callers.note(userOf('bob', { expiresAt: NOW + 1_000, claims }));
    advance(10);
    assert.throws(() => callers.current(first), hasCode('credential_unavailable'));
    const second = { ...first, expiresAt: NOW + 2_000 };
    callers.note(second);
    assert.equal(callers.current(first), second);
  });

  test('the gateway itself and nobody in particular as they are', () => {
    const { callers } = make();
    for (const kind of ['anonymous', 'probe'] as const) assert.equal(callers.current({ kind }).kind, kind);
  });
});

test('of too many users the one that was seen longest ago is forgotten', () => {
  const { callers, advance } = make(2);
  const of = (subject: string, expiresAt: number) => userOf(subject, { expiresAt });
  for (const subject of ['alice', 'bob', 'alice', 'carol']) callers.note(of(subject, NOW + 1_000));
  advance(10);
  assert.equal(callers.current(of('alice', NOW)).kind, 'user');
  assert.throws(() => callers.current(of('bob', NOW)), hasCode('credential_unavailable'));
});

describe('who is let in', () => {
  const HEAD: RequestHead = { http: 'POST', headers: {}, clientAddress: undefined, correlationId: () => 'c' };
  const [ended, newer] = [until(NOW), until(NOW + 1_000)];

  for (const [how, answer] of [
    ['at once', (): Caller => newer],
    ['later', async (): Promise<Caller> => newer],
  ] as const)
    test(`is remembered where that is known ${how}, and no timer is left`, async () => {
      const { callers } = make();
      const clock = frozenClock();
      assert.equal(await rememberCallers(callers, { authenticate: answer }, clock)(HEAD), newer);
      assert.equal(callers.current(ended), newer);
      await Promise.resolve();
      assert.deepEqual(clock.pending(), []);
    });

  test('is not remembered where another authentication has come into force meanwhile', async () => {
    const { callers } = make();
    const gate = { authenticate: async (): Promise<Caller> => newer, hasVerified: () => false };
    assert.equal(await rememberCallers(callers, gate, frozenClock())(HEAD), newer);
    assert.throws(() => callers.current(ended), hasCode('credential_unavailable'));
  });

  test('is nobody where it could not be found out in time, however it ends', async () => {
    const { callers } = make();
    const clock = frozenClock();
    const known = Promise.withResolvers<Caller>();
    const caller = rememberCallers(callers, { authenticate: () => known.promise }, clock)(HEAD);
    clock.advance(10_000);
    await assert.rejects(async () => caller, hasCode('overloaded'));
    known.resolve(newer);
    await known.promise;
    assert.throws(() => callers.current(ended), hasCode('credential_unavailable'));
  });
});

test('no more users are remembered than there is room for', () => {
  const { callers, advance } = make(1);
  const [first, second] = [until(NOW + 10), until(NOW + 20)];
  callers.note(second);
  callers.note(userOf('bob', { expiresAt: NOW + 100 }));
  advance(10);
  assert.throws(() => callers.current(first), hasCode('credential_unavailable'));
});

describe('what another check of a user has found', () => {
  test('counts from then on', () => {
    const { callers, advance } = make();
    const [first, second] = [until(NOW + 10), until(NOW + 1_000)];
    callers.note(second);
    const found = { ...second, claims: { client_id: 'app', groups: ['new'] } };
    callers.replace(second, found);
    advance(10);
    assert.equal(callers.current(first), found);
  });

  test('does not take the place of a token that the client has presented since', () => {
    const { callers, advance } = make();
    const [first, second, third] = [until(NOW + 10), until(NOW + 1_000), until(NOW + 500)];
    for (const each of [second, third]) callers.note(each);
    callers.replace(second, { ...second });
    advance(10);
    assert.equal(callers.current(first), third);
  });

  test('counts for the client that the token names now', () => {
    const { callers, advance } = make();
    const [app, cli] = [until(NOW + 1_000), until(NOW + 1_000, 'cli')];
    callers.note(app);
    callers.replace(app, cli);
    advance(10);
    assert.equal(callers.current(until(NOW, 'cli')), cli);
    assert.throws(() => callers.current(until(NOW)), hasCode('credential_unavailable'));
  });

  test('leaves those that it did not find to be forgotten', () => {
    const { callers, advance } = make();
    const [alice, bob] = [until(NOW + 1_000), userOf('bob', { expiresAt: NOW + 1_000 })];
    for (const each of [alice, bob]) callers.note(each);
    callers.retain((user) => user === alice);
    advance(10);
    assert.equal(callers.current(until(NOW)), alice);
    assert.throws(() => callers.current({ ...bob, expiresAt: NOW }), hasCode('credential_unavailable'));
  });
});
