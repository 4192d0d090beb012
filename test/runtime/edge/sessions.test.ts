import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClientBackendSessions } from '../../../runtime/backends/index.ts';
import type { Caller } from '../../../runtime/call/caller.ts';
import { Sessions } from '../../../runtime/edge/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { fakeStream } from '../../fixtures/fake-stream.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { userOf } from '../../fixtures/callers.ts';

const alice: Caller = userOf('alice', { issuer: 'https://idp' });
const MINUTE = 60_000;
const CLIENT = { revision: '2025-11-25', capabilities: Buffer.from('{}') };
const request = { send: () => false };
const newBackendSessions = (): ClientBackendSessions =>
  new ClientBackendSessions({ owner: () => ({ kind: 'anonymous' }) });

const make = (count = 3) => {
  const clock = frozenClock();
  let last = 0;
  const newId = () => `s${(last += 1)}`;
  const sessions = new Sessions({ ttlMs: 30 * MINUTE, count, calls: 32 }, { clock, newId, newBackendSessions });
  return { clock, sessions };
};

const isUnknown = (error: unknown): boolean => error instanceof VmcpError && error.code === 'session_not_found';

describe('sessions', () => {
  test('of another caller are unknown, and left alone', () => {
    const { sessions } = make();
    const { id } = sessions.create(alice, CLIENT);
    const strangers: Caller[] = [
      { kind: 'anonymous' },
      { ...alice, subject: 'bob' },
      { ...alice, issuer: 'https://other' },
    ];
    for (const stranger of strangers) assert.throws(() => sessions.use(id, stranger), isUnknown);
    assert.equal(sessions.use(id, { ...alice }).id, id);
  });

  test('end after 30 idle minutes, counted from their last use', () => {
    const { clock, sessions } = make();
    const { id } = sessions.create(alice, CLIENT);
    sessions.use(id, alice);
    clock.advance(29 * MINUTE);
    sessions.use(id, alice);
    clock.advance(29 * MINUTE);
    sessions.use(id, alice);
    clock.advance(30 * MINUTE);
    assert.throws(() => sessions.use(id, alice), isUnknown);
    assert.equal(sessions.size, 0);
  });

  test('that are used again and again live on, however short the time between', () => {
    const { clock, sessions } = make();
    const { id } = sessions.create(alice, CLIENT);
    for (let used = 0; used < 40 * 60; used += 1) {
      sessions.use(id, alice);
      clock.advance(1_000);
    }
    clock.advance(29.9 * MINUTE);
    assert.equal(sessions.use(id, alice).id, id);
  });

  test('live no longer when the machine’s clock is set back', () => {
    const { clock, sessions } = make();
    const { id } = sessions.create(alice, CLIENT);
    clock.advance(-60 * MINUTE);
    sessions.use(id, alice);
    clock.advance(30 * MINUTE);
    assert.throws(() => sessions.use(id, alice), isUnknown);
  });

  test('do not end while a call runs', () => {
    const { clock, sessions } = make();
    const session = sessions.create(alice, CLIENT);
    sessions.use(session.id, alice);
    const { end } = session.begin(Buffer.from('1'), request);
    clock.advance(31 * MINUTE);
    assert.equal(sessions.use(session.id, alice), session);
    end();
    clock.advance(31 * MINUTE);
    assert.equal(sessions.size, 0);
  });

  test('begin their idle time when a call that took longer has ended', () => {
    const { clock, sessions } = make();
    const session = sessions.create(alice, CLIENT);
    sessions.use(session.id, alice);
    const { end } = session.begin(Buffer.from('1'), request);
    clock.advance(31 * MINUTE);
    end();
    clock.advance(29 * MINUTE);
    assert.equal(sessions.use(session.id, alice), session);
  });

  test('begin their idle time when a stream that was open for longer breaks', () => {
    const { clock, sessions } = make();
    const session = sessions.create(alice, CLIENT);
    sessions.use(session.id, alice);
    const { stream, close } = fakeStream();
    session.listen(stream);
    clock.advance(31 * MINUTE);
    close();
    clock.advance(29 * MINUTE);
    assert.equal(sessions.use(session.id, alice), session);
    clock.advance(31 * MINUTE);
    assert.equal(sessions.size, 0);
  });

  test('that end with calls under way stay ended when these are over', () => {
    const { sessions } = make();
    const session = sessions.create(alice, CLIENT);
    const { end } = session.begin(Buffer.from('1'), request);
    sessions.end(session);
    end();
    assert.equal(sessions.size, 0);
  });

  test('are bounded: one too many ends the oldest that was never used', () => {
    const { sessions } = make(3);
    const [first, second, third] = [1, 2, 3].map(() => sessions.create(alice, CLIENT).id);
    sessions.use(first ?? '', alice);
    const fourth = sessions.create(alice, CLIENT).id;
    assert.throws(() => sessions.use(second ?? '', alice), isUnknown);
    for (const id of [first, third, fourth]) assert.equal(sessions.use(id ?? '', alice).id, id);
    assert.equal(sessions.size, 3);
  });

  test('that are used are never ended for a new one, which is refused', () => {
    const { sessions } = make(1);
    const { id } = sessions.create(alice, CLIENT);
    sessions.use(id, alice);
    const isRefusal = (error: unknown): boolean => error instanceof VmcpError && error.code === 'overloaded';
    assert.throws(() => sessions.create(alice, CLIENT), isRefusal);
    assert.equal(sessions.use(id, alice).id, id);
  });

  test('that are never used end after a minute', () => {
    const { clock, sessions } = make();
    const { id } = sessions.create(alice, CLIENT);
    clock.advance(MINUTE);
    assert.throws(() => sessions.use(id, alice), isUnknown);
    assert.equal(sessions.size, 0);
  });

  test('that are never used end after a minute, though an older one has a stream', () => {
    const { clock, sessions } = make(100);
    sessions.create(alice, CLIENT).listen(fakeStream().stream);
    for (let opened = 0; opened < 20; opened += 1) sessions.create(alice, CLIENT);
    clock.advance(MINUTE);
    assert.equal(sessions.size, 1);
  });

  test('that have a stream do not end to make room', () => {
    const { sessions } = make(3);
    const { stream, isEnded } = fakeStream();
    sessions.create(alice, CLIENT).listen(stream);
    for (let opened = 0; opened < 3; opened += 1) sessions.create(alice, CLIENT);
    assert.equal(isEnded(), false);
  });

  test('cancel their calls when they end', () => {
    const { sessions } = make();
    const session = sessions.create(alice, CLIENT);
    const { signal } = session.begin(Buffer.from('1'), request);
    sessions.end(session);
    assert.ok(signal.aborted);
  });
});
