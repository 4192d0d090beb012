import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { authenticationMetrics } from '../../../../runtime/gate/authenticate/authentication-metrics.ts';
import { FailureBudget } from '../../../../runtime/gate/authenticate/failure-budget.ts';
import type { IssuerVerifier } from '../../../../runtime/gate/authenticate/issuer-verifier.ts';
import { TokenCache, tokenKey } from '../../../../runtime/gate/authenticate/token-cache.ts';
import type { Verified } from '../../../../runtime/gate/authenticate/verify-token.ts';
import { invalid } from '../../../../runtime/gate/authenticate/verdict.ts';
import { TokenAuthenticator } from '../../../../runtime/gate/authenticate/token-authenticator.ts';
import { createMetrics } from '../../../../runtime/observe/index.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { hasCode } from '../../store/has-code.ts';
import { verifierOf } from './verifiers.ts';

const ISSUER = 'https://idp.example';

const VERIFIER = verifierOf(ISSUER);
const RESOURCE = { scope: '', metadataUrl: () => 'https://mcp.example', metadataAt: () => undefined };

interface Settings {
  readonly cache?: TokenCache;
  readonly verifier?: IssuerVerifier;
}

/** Knows the tokens `good-<subject>`; one refused token of an address uses up its budget. */
const authenticator = ({ cache = cacheOfTokens(), verifier = VERIFIER }: Settings = {}): TokenAuthenticator =>
  new TokenAuthenticator({
    verifier: {
      verify: async (token): Promise<Verified> => {
        const [, subject] = /^good-(.*)$/.exec(token) ?? [];
        if (subject === undefined) return invalid('malformed', 'no');
        return { kind: 'valid', issuer: ISSUER, subject, claims: { groups: ['new'] }, expiresAt: undefined, verifier };
      },
      uses: (each) => each === verifier,
      close: async () => {},
    },
    resource: () => RESOURCE,
    cache,
    failures: new FailureBudget({ burst: 1, refillMs: 60_000, addresses: 8 }),
    metrics: authenticationMetrics(createMetrics().meter, () => 0),
    now: () => 0,
  });

const cacheOfTokens = (): TokenCache => new TokenCache({ count: 100, bytes: 1_000_000 });

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

describe('a caller that was verified before', () => {
  test('is known without another check as long as its verifier is used and the keys are the same', async () => {
    const cache = cacheOfTokens();
    const before = authenticator({ cache });
    const alice = await before.authenticate(headOf('good-alice'));
    const same = authenticator({ cache });
    assert.deepEqual([before.hasVerified(alice), same.hasVerified(alice)], [true, true]);
    assert.equal(await same.verifyAgain(alice), alice);
    assert.equal(same.authenticate(headOf('good-alice')), alice);
    const another = authenticator({ cache, verifier: verifierOf(ISSUER) });
    assert.equal(another.hasVerified(alice), false);
    const again = await another.authenticate(headOf('good-alice'));
    assert.notEqual(again, alice);
    assert.equal(same.hasVerified(again), false);
    cache.clear();
    assert.equal(another.hasVerified(again), false);
  });

  test('is verified again once its token was refused', async () => {
    const cache = cacheOfTokens();
    const first = authenticator({ cache });
    const alice = await first.authenticate(headOf('good-alice'));
    cache.setRefused(tokenKey('good-alice'), invalid('inactive', 'no'), 0);
    assert.notEqual(await first.verifyAgain(alice), alice);
  });

  test('is not remembered by a check that ends after the settings have changed', async () => {
    const cache = cacheOfTokens();
    const before = authenticator({ cache });
    const late = before.authenticate(headOf('good-alice'));
    const closed = before.close();
    assert.equal((await late).kind, 'user');
    await closed;
    assert.deepEqual(cache.size, { valid: 0, refused: 0 });
  });
});
