import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SessionLinks } from '../../../runtime/backends/index.ts';
import type { Caller } from '../../../runtime/call.ts';
import { Sessions } from '../../../runtime/edge/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const alice: Caller = { kind: 'user', issuer: 'https://idp', subject: 'alice' };
const MINUTE = 60_000;

const make = (count = 3) => {
  const clock = frozenClock();
  let last = 0;
  const newId = () => `s${(last += 1)}`;
  const sessions = new Sessions({ ttlMs: 30 * MINUTE, count }, { clock, newId, newLinks: () => new SessionLinks() });
  return { clock, sessions };
};

const isUnknown = (error: unknown): boolean => error instanceof VmcpError && error.code === 'session_not_found';

describe('sessions', () => {
  test('of another caller are unknown, and left alone', () => {
    const { sessions } = make();
    const { id } = sessions.create(alice, '2025-11-25');
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
    const { id } = sessions.create(alice, '2025-11-25');
    clock.advance(29 * MINUTE);
    sessions.use(id, alice);
    clock.advance(29 * MINUTE);
    sessions.use(id, alice);
    clock.advance(30 * MINUTE);
    assert.throws(() => sessions.use(id, alice), isUnknown);
    assert.equal(sessions.size, 0);
  });

  test('do not end while a call runs', () => {
    const { clock, sessions } = make();
    const session = sessions.create(alice, '2025-11-25');
    const { end } = session.begin(Buffer.from('1'));
    clock.advance(31 * MINUTE);
    assert.equal(sessions.use(session.id, alice), session);
    end();
    clock.advance(31 * MINUTE);
    assert.equal(sessions.size, 0);
  });

  test('are bounded: one too many ends the one idle longest', () => {
    const { sessions } = make(3);
    const [first, second, third] = [1, 2, 3].map(() => sessions.create(alice, '2025-11-25').id);
    sessions.use(first ?? '', alice);
    const fourth = sessions.create(alice, '2025-11-25').id;
    assert.throws(() => sessions.use(second ?? '', alice), isUnknown);
    for (const id of [first, third, fourth]) assert.equal(sessions.use(id ?? '', alice).id, id);
    assert.equal(sessions.size, 3);
  });

  test('that are busy are never ended for a new one', () => {
    const { sessions } = make(1);
    sessions.create(alice, '2025-11-25').begin(Buffer.from('1'));
    assert.throws(() => sessions.create(alice, '2025-11-25'), VmcpError);
  });

  const spellings: readonly (readonly [string, string])[] = [
    ['7', '7.0'],
    ['7e0', '7'],
    ['"slow"', String.raw`"sl\u006fw"`],
    ['12345678901234567890', '12345678901234567890'],
  ];
  for (const [id, spelt] of spellings) {
    test(`cancel call ${id} when asked for ${spelt}, and take no second one meanwhile`, () => {
      const { sessions } = make();
      const session = sessions.create(alice, '2025-11-25');
      const { signal, end } = session.begin(Buffer.from(id));
      assert.throws(() => session.begin(Buffer.from(spelt)), VmcpError);
      session.cancel(Buffer.from(spelt), new VmcpError('cancelled', 'enough'));
      assert.ok(signal.aborted);
      end();
      assert.ok(session.isIdle);
      session.begin(Buffer.from(spelt)).end();
    });
  }

  test('tell calls apart whose ids differ beyond what a number can hold', () => {
    const { sessions } = make();
    const session = sessions.create(alice, '2025-11-25');
    session.begin(Buffer.from('12345678901234567890'));
    session.begin(Buffer.from('12345678901234567891'));
  });

  test('have 32 calls under way, and one more when one of them has ended', () => {
    const session = make().sessions.create(alice, '2025-11-25');
    const calls = Array.from({ length: 32 }, (_, id) => session.begin(Buffer.from(String(id))));
    const isBusy = (error: unknown): boolean => error instanceof VmcpError && error.code === 'busy';
    assert.throws(() => session.begin(Buffer.from('33')), isBusy);
    calls[0]?.end();
    session.begin(Buffer.from('33'));
  });

  test('cancel their calls when they end', () => {
    const { sessions } = make();
    const session = sessions.create(alice, '2025-11-25');
    const { signal } = session.begin(Buffer.from('1'));
    sessions.end(session);
    assert.ok(signal.aborted);
  });
});
