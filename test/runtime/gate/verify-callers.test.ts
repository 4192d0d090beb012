import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { OpenFor } from '../../../runtime/call/open-for.ts';
import { verifyCallers } from '../../../runtime/gate/index.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** Streams of these callers, and what has become of them. */
const openFor = (callers: readonly Caller[]) => {
  const kept: Caller[] = [];
  const ended: Caller[] = [];
  const open = callers.map((caller): OpenFor => ({
    caller,
    method: 'GET',
    keep: (verified) => void kept.push(verified),
    end: () => ended.push(caller) > 0,
  }));
  return { open, kept, ended };
};

const users = (count: number): readonly Caller[] =>
  Array.from({ length: count }, (_, each) => userOf(`user-${each}`, { token: `token-${each}` }));

describe('callers of what is open', () => {
  test('are verified once for each token, and kept as they are known now', async () => {
    const [alice, bob] = [userOf('alice', { token: 'a' }), userOf('bob', { token: 'b' })];
    const { open, kept, ended } = openFor([alice, bob, alice]);
    const asked: Caller[] = [];
    const known = userOf('alice', { token: 'a', claims: { sub: 'alice', groups: ['new'] } });
    await verifyCallers(open, {
      verifyAgain: async (caller) => {
        asked.push(caller);
        return caller === alice ? known : undefined;
      },
      clock: frozenClock(),
      onEnded: () => {},
      isOvertaken: () => false,
    });
    assert.equal(asked.length, 2);
    assert.deepEqual(kept, [known, known]);
    assert.deepEqual(ended, [bob]);
  });

  test('are not known where their verification fails', async () => {
    const { open, ended } = openFor(users(2));
    const told: OpenFor[] = [];
    await verifyCallers(open, {
      verifyAgain: () => {
        throw new Error('away');
      },
      clock: frozenClock(),
      onEnded: (each) => void told.push(each),
      isOvertaken: () => false,
    });
    assert.equal(ended.length, 2);
    assert.equal(told.length, 2);
  });

  test('are verified some at a time, and count as unknown after a while', async () => {
    const clock = frozenClock();
    const { open, ended } = openFor(users(200));
    let asked = 0;
    const done = verifyCallers(open, {
      verifyAgain: () => {
        asked += 1;
        return new Promise(() => {});
      },
      clock,
      onEnded: () => {},
      isOvertaken: () => false,
    });
    for (const seconds of [10, 20, 30]) {
      await setImmediate();
      assert.equal(asked, (seconds / 10) * 32);
      clock.advance(10_000);
    }
    await done;
    assert.equal(ended.length, 200);
    assert.equal(asked, 96);
  });

  test('neither go on nor end once yet another authentication is in force', async () => {
    const { open, kept, ended } = openFor(users(100));
    const known = Promise.withResolvers<void>();
    let asked = 0;
    let isOvertaken = false;
    const done = verifyCallers(open, {
      verifyAgain: async (caller) => {
        asked += 1;
        await known.promise;
        return asked % 2 === 0 ? caller : undefined;
      },
      clock: frozenClock(),
      onEnded: () => assert.fail('told'),
      isOvertaken: () => isOvertaken,
    });
    isOvertaken = true;
    known.resolve();
    await done;
    assert.deepEqual([kept, ended, asked], [[], [], 32]);
  });
});
