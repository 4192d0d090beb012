import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { logins } from '../../../../runtime/observe/audit/logins.ts';
import { userOf } from '../../../fixtures/callers.ts';

describe('a login is on record', () => {
  test('once for each token, however often it is checked again', () => {
    const { isNew } = logins();
    const alice = (token: string) => userOf('alice', { token, expiresAt: 1_000 });
    assert.deepEqual(
      ['a', 'a', 'b', 'a', 'b'].map((token) => isNew(alice(token))),
      [true, false, true, false, false],
    );
  });

  test('for another token of the same user and client, also one that ends in the same second or never says when', () => {
    for (const expiresAt of [1_000, undefined]) {
      const { isNew } = logins();
      const claims = { client_id: 'app' };
      assert.equal(isNew(userOf('alice', { token: 'own', expiresAt, claims })), true);
      assert.equal(isNew(userOf('alice', { token: 'stolen', expiresAt, claims })), true, String(expiresAt));
    }
  });

  test('once more when many others came between, rather than never', () => {
    const { isNew } = logins();
    const of = (number: number) => userOf(`user-${number}`, { token: `token-${number}` });
    for (let number = 0; number <= 10_000; number += 1) assert.equal(isNew(of(number)), true);
    assert.equal(isNew(of(0)), true);
    assert.equal(isNew(of(10_000)), false);
  });

  test('of nobody in particular never', () => {
    const { isNew } = logins();
    for (const kind of ['anonymous', 'probe'] as const) assert.equal(isNew({ kind }), false);
  });
});
