import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Caller } from '../../../../runtime/call/index.ts';
import { ListeningUsers } from '../../../../runtime/backends/discovery/listening-users.ts';
import { userOf } from '../../../fixtures/callers.ts';

/** What was begun and ended, in order. */
const noting = (name: string, seen: string[]) => (caller: Caller) => {
  const who = caller.kind === 'user' ? caller.subject : caller.kind;
  seen.push(`${name} begins for ${who}`);
  return () => void seen.push(`${name} ends for ${who}`);
};

describe('users who listen', () => {
  test('are begun for once, however many clients they have, and ended for with the last of them', () => {
    const users = new ListeningUsers();
    const seen: string[] = [];
    users.forEach(noting('a', seen));
    const gone = [
      users.add(userOf('x')),
      users.add(userOf('x', { token: 'another' })),
      users.add(userOf('y')),
    ] as const;
    gone[0]();
    gone[0]();
    assert.deepEqual(seen, ['a begins for x', 'a begins for y']);
    gone[1]();
    assert.deepEqual(seen.slice(2), ['a ends for x']);
    gone[2]();
    users.add(userOf('x'));
    assert.deepEqual(seen.slice(3), ['a ends for y', 'a begins for x']);
  });

  test('are begun for by whom comes later, too, until that is over', () => {
    const users = new ListeningUsers();
    const seen: string[] = [];
    const gone = users.add(userOf('x'));
    const [endA, endB] = [users.forEach(noting('a', seen)), users.forEach(noting('b', seen))];
    endA();
    users.add(userOf('y'));
    gone();
    endB();
    assert.deepEqual(seen, [
      'a begins for x',
      'b begins for x',
      'a ends for x',
      'b begins for y',
      'b ends for x',
      'b ends for y',
    ]);
  });

  test('are users: anonymous callers have no lists of their own', () => {
    const users = new ListeningUsers();
    const seen: string[] = [];
    users.forEach(noting('a', seen));
    users.add({ kind: 'anonymous' })();
    assert.deepEqual(seen, []);
  });
});
