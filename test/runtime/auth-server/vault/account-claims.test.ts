import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { UpstreamTokens } from '../../../../runtime/auth-server/vault/account-record.ts';
import { userPorts } from '../../../../runtime/auth-server/vault/user-ports.ts';
import type { TokenVault } from '../../../../runtime/auth-server/vault/vault.ts';
import { systemClock } from '../../../../runtime/process/system-clock.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { hasCode } from '../../store/has-code.ts';
import { startTokenIssuer, type TokenIssuer, USE } from './token-issuer.ts';
import { accountOf, HOUR_MS, identityOf, type SetClock, setClock, signInAt, vaultOn } from './vaults.ts';

describe('claims of a token at a provider', () => {
  const of = accountOf('alice');
  let clock: SetClock;
  let issuer: TokenIssuer;
  let claimsOf: (tokens: UpstreamTokens) => Promise<Readonly<Record<string, unknown>> | undefined>;
  let asked: string[];
  let newReplica: () => TokenVault;
  let vault: TokenVault;

  before(async () => {
    issuer = await startTokenIssuer(() => clock.now());
  });
  after(() => issuer.close());
  beforeEach(async () => {
    clock = setClock();
    asked = [];
    claimsOf = async ({ accessToken }) => ({ sub: 'alice', of: accessToken });
    const store = memoryStore({ clock: systemClock });
    const upstream = {
      ...issuer.upstream,
      claimsOf: (tokens: UpstreamTokens) => (asked.push(tokens.accessToken), claimsOf(tokens)),
    };
    newReplica = () => vaultOn(store, { upstream }, { clock });
    vault = newReplica();
    await signInAt(vault, of, issuer.signIn('alice'));
  });

  test('are found once for each token, and kept with it for all replicas', async () => {
    const accessToken = await vault.accessToken(of, {});
    const claims = await vault.claims(of);
    assert.deepEqual(claims, { sub: 'alice', of: accessToken });
    assert.equal(await vault.claims(of), claims, 'the same value, so that decisions can be kept with it');
    assert.deepEqual(await newReplica().claims(of), claims);
    assert.deepEqual(asked, [accessToken]);
  });

  test('are those of the new token after a refresh', async () => {
    const before = await vault.claims(of);
    clock.advance(HOUR_MS);
    const now = await vault.claims(of);
    assert.notDeepEqual(now, before);
    assert.equal(now?.['of'], await vault.accessToken(of, {}));
    assert.deepEqual(await newReplica().claims(of), now);
  });

  test('of an opaque token stay those of the sign-in where a refresh says nothing of them', async () => {
    const claims = await vault.claims(of);
    claimsOf = async () => undefined;
    clock.advance(HOUR_MS);
    assert.deepEqual(await vault.claims(of), claims);
    assert.deepEqual(await newReplica().claims(of), claims);
  });

  test('of a JWT that is not verified are none, whatever was known before', async () => {
    await vault.claims(of);
    claimsOf = async () => undefined;
    const tokens = { accessToken: 'aa.bb.cc', expiresAt: clock.now() + HOUR_MS };
    await vault.put(of, tokens, identityOf('alice'));
    assert.equal(await vault.claims(of), undefined);
  });

  test('that cannot be verified at this moment, or whose token cannot be had, are an error and not none', async () => {
    claimsOf = () => Promise.reject(new Error('the keys are away'));
    await assert.rejects(vault.claims(of), hasCode('credential_unavailable'));
    claimsOf = async () => ({ sub: 'alice' });
    assert.deepEqual(await vault.claims(of), { sub: 'alice' });
    clock.advance(HOUR_MS);
    issuer.fault = () => 'away';
    await assert.rejects(vault.claims(of), hasCode('credential_unavailable'));
    issuer.fault = undefined;
  });

  test('and tokens are for users of this issuer alone, whatever another issuer calls its users', async () => {
    const { upstreamTokenOf, upstreamClaims } = userPorts(vault, 'https://vmcp.example');
    const use = { backend: 'a', recipients: ['https://a.example'] };
    const ours = { issuer: 'https://vmcp.example', subject: of.user };
    const theirs = { ...ours, issuer: 'https://other.example' };
    assert.equal(await upstreamTokenOf(ours)('corp', use), await vault.accessToken(of, USE));
    assert.deepEqual(await upstreamClaims(ours, 'corp'), await vault.claims(of));
    assert.equal(await upstreamTokenOf(theirs)('corp', use), undefined);
    assert.equal(await upstreamClaims(theirs, 'corp'), undefined);
  });
});
