import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { User } from '../../../runtime/call.ts';
import { CurrentCallers } from '../../../runtime/gate/index.ts';
import { userOf } from '../../fixtures/callers.ts';
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

  test('the same user and client with the token that ends last, once it has ended', () => {
    const { callers, advance } = make();
    const [first, second, third] = [until(NOW + 10), until(NOW + 1_000), until(NOW + 20)];
    for (const each of [first, second, third, until(NOW + 2_000, 'another')]) callers.note(each);
    advance(30);
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

  test('the gateway itself and nobody in particular as they are', () => {
    const { callers } = make();
    for (const kind of ['anonymous', 'probe'] as const) assert.equal(callers.current({ kind }).kind, kind);
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
