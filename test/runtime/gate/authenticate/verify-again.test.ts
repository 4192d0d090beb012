import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { authenticationMetrics } from '../../../../runtime/gate/authenticate/authentication-metrics.ts';
import type { Verdict } from '../../../../runtime/gate/authenticate/verdict.ts';
import { invalid } from '../../../../runtime/gate/authenticate/verdict.ts';
import { TokenAuthenticator } from '../../../../runtime/gate/authenticate/token-authenticator.ts';
import { createMetrics } from '../../../../runtime/observe/index.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { hasCode } from '../../store/has-code.ts';

const ISSUER = 'https://idp.example';

/** Knows the tokens `good-<subject>`; one refused token of an address uses up its budget. */
const authenticator = (): TokenAuthenticator =>
  new TokenAuthenticator({
    resource: {
      scope: '',
      metadataUrl: () => 'https://mcp.example',
      metadataAt: () => undefined,
    },
    makeVerifier: () => ({
      verify: async (token): Promise<Verdict> => {
        const [, subject] = /^good-(.*)$/.exec(token) ?? [];
        if (subject === undefined) return invalid('malformed', 'no');
        return { kind: 'valid', issuer: ISSUER, subject, claims: { groups: ['new'] }, expiresAt: undefined };
      },
      close: async () => {},
    }),
    metrics: authenticationMetrics(createMetrics().meter, () => 0),
    now: () => 0,
    bounds: { tokens: { count: 100, bytes: 1_000_000 }, failures: { burst: 1, refillMs: 60_000, addresses: 8 } },
  });

const headOf = (token: string) => ({
  http: 'POST',
  headers: { authorization: `Bearer ${token}` },
  clientAddress: undefined,
  correlationId: () => 'c',
});

describe('a caller that is verified again', () => {
  test('is known by the claims that the token has now', async () => {
    const known = await authenticator().verifyAgain(userOf('alice', { token: 'good-alice' }));
    assert.deepEqual(known?.kind === 'user' && known.claims, { iss: ISSUER, sub: 'alice', groups: ['new'] });
  });

  test('is unknown without a token, with one that is refused, and where the token is of another user now', async () => {
    const { verifyAgain } = authenticator();
    for (const caller of [
      { kind: 'anonymous' } as const,
      userOf('alice', { token: '' }),
      userOf('alice', { token: 'bad' }),
      userOf('alice', { token: 'good-bob' }),
      userOf('alice', { token: 'good-alice', issuer: 'https://other.example' }),
    ])
      assert.equal(await verifyAgain(caller), undefined);
  });

  test('spends nothing of what an address may fail', async () => {
    const { verifyAgain, authenticate } = authenticator();
    for (let each = 0; each < 10; each += 1) await verifyAgain(userOf('alice', { token: `bad-${each}` }));
    assert.equal((await authenticate(headOf('good-bob'))).kind, 'user');
    await assert.rejects(async () => authenticate(headOf('bad')), hasCode('invalid_token'));
    await assert.rejects(async () => authenticate(headOf('good-carol')), hasCode('overloaded'));
  });
});
