import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorize, redeem, refresh, refreshTokenOf, type TokenAnswer } from './client.ts';
import { onTwoReplicas } from './two-replicas.ts';

const assertRefused = ({ status, body }: TokenAnswer): void =>
  assert.deepEqual([status, body['error']], [400, 'invalid_grant']);

onTwoReplicas('an authorization code', (replicas) => {
  const codeFor = async (client: string): Promise<string> => {
    const { a, b } = replicas();
    return (await authorize(a, { client, replicas: [a, b] })).code;
  };

  test('is redeemed at another replica than the one that issued it', async () => {
    const answer = await redeem(replicas().b, await codeFor('first'));
    assert.equal(answer.status, 200, answer.text);
  });

  test('that is redeemed twice ends what came of it', async () => {
    const { a, b } = replicas();
    const code = await codeFor('first');
    const answer = await redeem(a, code);
    assertRefused(await redeem(b, code));
    assertRefused(await refresh(a, refreshTokenOf(answer)));
  });

  test('that two replicas redeem at the same moment leaves nobody with a refresh token', async () => {
    const { a, b } = replicas();
    for (let time = 0; time < 10; time += 1) {
      const code = await codeFor('first');
      const answers = await Promise.all([redeem(a, code), redeem(b, code)]);
      const issued = answers.filter(({ status }) => status === 200);
      assert.ok(issued.length <= 1);
      for (const answer of issued) assertRefused(await refresh(b, refreshTokenOf(answer)));
    }
  });

  test('that another client presents is refused, and stays with its own', async () => {
    const { a, b } = replicas();
    const code = await codeFor('first');
    assertRefused(await redeem(a, code, 'second'));
    assert.equal((await redeem(b, code)).status, 200);
  });
});
