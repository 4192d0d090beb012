import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refresh, refreshTokenOf, revoke, signIn } from './client.ts';
import { onTwoReplicas } from './two-replicas.ts';

onTwoReplicas('revocation (RFC 7009)', (replicas) => {
  const signedIn = async (): Promise<string> => refreshTokenOf(await signIn(replicas().a));
  const statusOf = async (token: string): Promise<number> => (await refresh(replicas().b, token)).status;

  test('of a refresh token ends its family at all replicas', async () => {
    const { a, b } = replicas();
    const first = await signedIn();
    const second = refreshTokenOf(await refresh(b, first));
    assert.equal((await revoke(a, second)).status, 200);
    assert.deepEqual([await statusOf(second), await statusOf(first)], [400, 400]);
  });

  test('of a refresh token that has been replaced, as a client has that lost the answer, ends its family', async () => {
    const { a, b, clock } = replicas();
    for (const waitMs of [0, 60_000]) {
      const first = await signedIn();
      const second = refreshTokenOf(await refresh(b, first));
      clock.advance(waitMs);
      assert.equal((await revoke(a, first)).status, 200);
      assert.equal(await statusOf(second), 400);
    }
  });

  test('leaves other families of the user alone', async () => {
    const [ended, other] = [await signedIn(), await signedIn()];
    await revoke(replicas().a, ended);
    assert.deepEqual([await statusOf(ended), await statusOf(other)], [400, 200]);
  });

  test('by another client, or of what is no token, changes nothing and is not told apart', async () => {
    const { a } = replicas();
    const token = await signedIn();
    assert.equal((await revoke(a, token, 'second')).status, 200);
    assert.equal((await revoke(a, 'x'.repeat(65))).status, 200);
    assert.equal(await statusOf(token), 200);
  });
});
