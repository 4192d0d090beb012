import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { TokenVault } from '../../../../runtime/auth-server/vault/vault.ts';
import type { VmcpError } from '../../../../runtime/errors.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { hasCode } from '../../store/has-code.ts';
import { inEveryStore } from '../../store/stores.ts';
import type { UpstreamTokens } from '../../../../runtime/auth-server/upstreams/index.ts';
import { startTokenIssuer, type TokenIssuer, USE } from './token-issuer.ts';
import { accountOf, HOUR_MS, identityOf, type SetClock, setClock, signInAt, vaultOn } from './vaults.ts';

let serial = 0;

inEveryStore('the token vault', (store) => {
  const clock: SetClock = setClock();
  let issuer: TokenIssuer;
  let vault: TokenVault;
  let of: ReturnType<typeof accountOf>;
  let user: string;

  before(async () => {
    issuer = await startTokenIssuer(clock.now);
  });
  after(() => issuer.close());
  beforeEach(() => {
    Object.assign(issuer, { lifeMs: HOUR_MS, fault: undefined, beforeAnswer: undefined, requests: 0 });
    serial += 1;
    user = `user-${serial}`;
    of = accountOf(user);
    vault = vaultOn(store(), issuer, { clock });
  });

  const signIn = async (): Promise<string> => {
    const tokens = issuer.signIn(user);
    await signInAt(vault, of, tokens);
    return tokens.accessToken;
  };
  const use = (more: object = {}): Promise<string | undefined> => vault.accessToken(of, { ...USE, ...more });
  const stateOf = async (): Promise<string | undefined> => (await vault.linked(of.user))[0]?.state;

  describe('a token that is good', () => {
    test('is given as it is, until a minute before its end', async () => {
      const token = await signIn();
      clock.advance(HOUR_MS - 60_001);
      assert.equal(await use(), token);
      assert.equal(issuer.requests, 0);
      clock.advance(1);
      assert.notEqual(await use(), token);
      assert.equal(issuer.requests, 1);
    });

    test('that is short-lived is given for nine tenths of its life', async () => {
      issuer.lifeMs = 100_000;
      const token = await signIn();
      clock.advance(89_999);
      assert.equal(await use(), token);
      clock.advance(1);
      assert.notEqual(await use(), token);
    });

    test('without a known end is given until it is refused', async () => {
      issuer.lifeMs = undefined;
      const token = await signIn();
      clock.advance(100 * HOUR_MS);
      assert.equal(await use(), token);
      const renewed = await use({ refused: token });
      assert.ok(![undefined, token].includes(renewed));
      assert.equal(await vault.accessToken(of, {}), renewed);
      assert.notEqual(await use(), token);
    });

    test('is that of its user and provider alone', async () => {
      await signIn();
      assert.equal(await vault.accessToken(accountOf(`${user}x`), USE), undefined);
      await assert.rejects(vault.accessToken({ ...of, provider: 'other' }, USE), hasCode('credential_unavailable'));
    });
  });

  describe('an expiry', () => {
    test('is one refresh, whatever the number of calls and replicas', async () => {
      const replicas = [vault, vaultOn(store(), issuer, { clock })];
      const token = await signIn();
      clock.advance(HOUR_MS);
      const got = await Promise.all(
        Array.from({ length: 100 }).flatMap(() => replicas.map((each) => each.accessToken(of, USE))),
      );
      assert.equal(issuer.refreshes.get(user), 1);
      assert.equal(new Set(got).size, 1);
      assert.ok(got[0] !== undefined && got[0] !== token);
    });

    test('takes the rotated refresh token the next time, and the old one where none was sent', async () => {
      let last: UpstreamTokens = issuer.signIn(user);
      await signInAt(vault, of, last);
      for (const isRotated of [true, true, false, false]) {
        const before = last;
        const { refresh } = issuer.upstream;
        const answered = async (token: string, previous: UpstreamTokens) => {
          assert.equal(token, before.refreshToken);
          assert.deepEqual(previous, before);
          const tokens = isRotated
            ? await refresh(token, previous)
            : { accessToken: `again-${clock.now()}`, expiresAt: clock.now() + HOUR_MS };
          last = { ...before, ...tokens };
          return tokens;
        };
        clock.advance(HOUR_MS);
        const replica = vaultOn(store(), { upstream: { ...issuer.upstream, refresh: answered } }, { clock });
        assert.equal(await replica.accessToken(of, USE), last.accessToken);
        assert.notEqual(last.accessToken, before.accessToken);
      }
    });

    test('without a refresh token is a sign-in, at the end and not before', async () => {
      const { refreshToken: _none, ...tokens } = issuer.signIn(user);
      await signInAt(vault, of, tokens);
      clock.advance(HOUR_MS - 1_000);
      assert.equal(await use(), tokens.accessToken);
      assert.equal(await stateOf(), 'linked');
      clock.advance(1_000);
      assert.equal(await use(), undefined);
      assert.equal(await stateOf(), 'needs-sign-in');
    });

    test('of tokens that end at once gives each call a token', async () => {
      issuer.lifeMs = 0;
      const token = await signIn();
      assert.ok(![undefined, token].includes(await use()));
    });
  });

  describe('a provider that is away', () => {
    test('disconnects nobody: a token that is still good is given, and later the account goes on', async () => {
      const token = await signIn();
      issuer.fault = () => 'away';
      clock.advance(HOUR_MS - 30_000);
      assert.equal(await use(), token);
      assert.equal(await use(), token);
      assert.equal(issuer.requests, 1, 'nor is it asked again for two seconds');
      clock.advance(30_000);
      await assert.rejects(use(), (error: VmcpError) => {
        assert.ok(hasCode('credential_unavailable')(error) && error.isOutage);
        assert.equal(error.message, 'no token of "corp": it cannot be refreshed at this moment');
        return true;
      });
      assert.equal(await stateOf(), 'linked');
      issuer.fault = undefined;
      clock.advance(2_000);
      assert.notEqual(await use(), undefined);
      assert.equal(issuer.refreshes.get(user), 1);
    });

    test('so does one that refuses this server, which no user can mend', async () => {
      await signIn();
      clock.advance(HOUR_MS);
      issuer.fault = () => 'misconfigured';
      await assert.rejects(use(), (error: VmcpError) => !error.isOutage && hasCode('credential_unavailable')(error));
      assert.equal(await stateOf(), 'linked');
      issuer.fault = undefined;
      clock.advance(2_000);
      assert.notEqual(await use(), undefined);
    });
  });

  test('a refresh token that is refused ends the account: it keeps who the user is, and a sign-in mends it', async () => {
    await signIn();
    issuer.endFamilies();
    clock.advance(HOUR_MS);
    assert.equal(await use(), undefined);
    assert.equal(await use(), undefined);
    assert.equal(issuer.requests, 1, 'it is not shown again');
    const [linked] = await vault.linked(of.user);
    assert.deepEqual([linked?.state, linked?.identity], ['needs-sign-in', identityOf(user)]);
    const token = await signIn();
    assert.equal(await use(), token);
    assert.equal(await stateOf(), 'linked');
  });

  describe('a token that a backend refuses', () => {
    test('is refreshed once, for all who were refused', async () => {
      const token = await signIn();
      const renewed = new Set(await Promise.all(Array.from({ length: 20 }, () => use({ refused: token }))));
      assert.equal(renewed.size, 1);
      assert.ok(!renewed.has(token) && !renewed.has(undefined));
      assert.equal(issuer.refreshes.get(user), 1);
      assert.equal(await use({ refused: token }), [...renewed][0]);
      assert.equal(issuer.refreshes.get(user), 1);
    });

    test('has no successor where its predecessor was refused a moment ago', async () => {
      const second = await use({ refused: await signIn() });
      assert.equal(await use({ refused: second }), undefined);
      assert.equal(await use(), second, 'other backends go on with it');
      clock.advance(60_000);
      assert.ok(![undefined, second].includes(await use({ refused: second })));
    });

    test('is not given again where the provider has no other', async () => {
      const token = await signIn();
      const same = async () => ({ accessToken: token, expiresAt: clock.now() + HOUR_MS });
      vault = vaultOn(store(), { upstream: { ...issuer.upstream, refresh: same } }, { clock });
      assert.equal(await use({ refused: token }), undefined);
      assert.equal(await use(), token);
    });

    test('gives nothing while the provider is away', async () => {
      const token = await signIn();
      issuer.fault = () => 'away';
      await assert.rejects(use({ refused: token }), hasCode('credential_unavailable'));
      assert.equal(await use(), token);
    });
  });

  describe('recipients', () => {
    test('a backend that was moved, or that the user has not been told of, gets no token', async () => {
      const token = await signIn();
      const elsewhere = { backend: 'a', recipients: ['https://evil.example'] };
      const exchanged = { backend: 'a', recipients: ['https://a.example', 'https://evil.example'] };
      for (const each of [
        elsewhere,
        exchanged,
        { ...USE, backend: 'b' },
        { backend: 'a', recipients: [] },
        { backend: 'a' },
      ])
        assert.equal(await vault.accessToken(of, each), undefined, JSON.stringify(each));
      assert.equal(await use(), token);
      assert.equal(await vault.accessToken(of, {}), token, 'what stays here needs no consent');
    });

    test('a sign-in alone gives no backend anything', async () => {
      const { accessToken } = issuer.signIn(user);
      await vault.put(of, { accessToken }, identityOf(user));
      assert.equal(await use(), undefined);
      assert.equal(await vault.accessToken(of, {}), accessToken);
      assert.deepEqual((await vault.question(of.user)).accounts[0]?.notAgreed, new Map([['a', ['https://a.example']]]));
    });

    test('a further sign-in changes nothing of that, but what the user then agrees to', async () => {
      await signIn();
      const recipients = new Map([['a', ['https://moved.example']]]);
      vault = vaultOn(store(), issuer, { clock, recipientsOf: () => recipients });
      const tokens = issuer.signIn(user);
      await vault.put(of, tokens, identityOf(user));
      const token = tokens.accessToken;
      const moved = { backend: 'a', recipients: ['https://moved.example'] };
      assert.equal(await vault.accessToken(of, moved), undefined);
      assert.equal(await stateOf(), 'linked');
      const { accounts, digest } = await vault.question(of.user);
      assert.deepEqual(accounts, [{ provider: 'corp', identity: identityOf(user), recipients, notAgreed: recipients }]);
      assert.equal(await vault.agree(of.user, digest), true);
      assert.equal(await vault.accessToken(of, moved), token);
      assert.equal(await use(), undefined, 'the address of before is agreed to no longer');
      assert.equal((await vault.question(of.user)).accounts[0]?.notAgreed.size, 0);
    });

    test('who agrees, agrees to what was shown, and not to what was configured since', async () => {
      let origin = 'https://shown.example';
      const recipientsOf = () => new Map([['a', [origin]]]);
      await signIn();
      vault = vaultOn(store(), issuer, { clock, recipientsOf });
      const { digest } = await vault.question(of.user);
      origin = 'https://evil.example';
      assert.equal(await vault.agree(of.user, digest), false);
      for (const each of [origin, 'https://shown.example'])
        assert.equal(await vault.accessToken(of, { backend: 'a', recipients: [each] }), undefined);
      assert.notEqual(await use(), undefined, 'what was agreed to before goes on');
    });

    test('who agrees, agrees for the account that was shown, and for no other that has come since', async () => {
      const { accessToken } = issuer.signIn(user);
      await vault.put(of, { accessToken }, identityOf(user));
      const { digest } = await vault.question(of.user);
      await vault.put(of, { accessToken: 'of-somebody-else' }, identityOf('mallory'));
      assert.equal(await vault.agree(of.user, digest), false);
      assert.equal(await use(), undefined);
    });

    test('a refresh keeps what the user has agreed to', async () => {
      await signIn();
      vault = vaultOn(store(), issuer, { clock, recipientsOf: () => new Map([['b', ['https://b.example']]]) });
      assert.equal(await vault.agree(of.user, (await vault.question(of.user)).digest), true);
      clock.advance(HOUR_MS);
      assert.equal(await use(), undefined);
      assert.notEqual(await vault.accessToken(of, { backend: 'b', recipients: ['https://b.example'] }), undefined);
    });
  });

  test('a provider that was replaced under its name is sent no token of before', async () => {
    const token = await signIn();
    const sent: string[] = [];
    const evil = {
      ...issuer.upstream,
      origin: 'origin-2',
      refresh: async (refreshToken: string) => (sent.push(refreshToken), issuer.signIn(user)),
      revoke: async ({ refreshToken = '' }) => void sent.push(refreshToken),
      claimsOf: async ({ accessToken }: { readonly accessToken: string }) => (sent.push(accessToken), {}),
    };
    const replaced = vaultOn(store(), { upstream: evil }, { clock });
    clock.advance(HOUR_MS);
    for (const each of [USE, { ...USE, refused: token }, {}])
      assert.equal(await replaced.accessToken(of, each), undefined);
    assert.equal(await replaced.claims(of), undefined);
    assert.equal((await replaced.linked(of.user))[0]?.state, 'needs-sign-in');
    assert.notEqual(await use(), undefined, 'the one of before, configured again, goes on');
    await replaced.remove(of.user);
    assert.deepEqual(sent, []);
    await replaced.put(of, issuer.signIn(user), identityOf(user), 'origin-1');
    assert.equal(await replaced.accessToken(of, USE), undefined, 'nor those that were redeemed while it was replaced');
  });

  describe('removal', () => {
    test('of one account leaves the others, and revokes the tokens at the provider', async () => {
      const both = { upstream: () => issuer.upstream, clock };
      vault = vaultOn(store(), issuer, both);
      const other = { ...of, provider: 'other' };
      const tokens = issuer.signIn(user);
      await signInAt(vault, of, tokens);
      const kept = issuer.signIn(user);
      await signInAt(vault, other, kept);
      await vault.remove(of.user, 'corp');
      assert.equal(await use(), undefined);
      assert.deepEqual(issuer.revoked.splice(0), [tokens.refreshToken]);
      assert.equal(await vault.accessToken(other, USE), kept.accessToken);
      assert.deepEqual(
        (await vault.linked(of.user)).map(({ provider }) => provider),
        ['other'],
      );
      await vault.remove(of.user, 'corp');
      assert.equal(await use(), undefined);
      const token = await signIn();
      assert.equal(await use(), token, 'a new sign-in brings it back');
      await vault.remove(of.user);
      assert.deepEqual(await vault.linked(of.user), []);
      assert.equal(await vault.accessToken(other, USE), undefined);
      assert.equal(issuer.revoked.splice(0).length, 2);
    });

    for (const [what, provider] of [
      ['of one', 'corp'],
      ['of all', undefined],
    ] as const)
      test(`${what} while the provider answers is not undone by the answer, which is revoked, too`, async () => {
        await signIn();
        clock.advance(HOUR_MS);
        const { wait, arrived, goOn } = held(issuer);
        const used = use();
        await arrived;
        await vault.remove(of.user, provider);
        goOn();
        await wait;
        assert.equal(await used, undefined);
        await vault.close();
        assert.deepEqual(await vault.linked(of.user), []);
        assert.equal(issuer.revoked.splice(0).length, 2);
      });
  });

  test('a sign-in while the provider answers is not undone by the answer', async () => {
    await signIn();
    clock.advance(HOUR_MS);
    const { wait, arrived, goOn } = held(issuer);
    const used = use();
    await arrived;
    const token = await signIn();
    goOn();
    await wait;
    assert.equal(await used, token);
    await vault.close();
    assert.equal(await use(), token);
    assert.deepEqual(issuer.revoked, [], 'as some providers revoke the new grant with the old token');
  });

  describe('a store that is away', () => {
    /** Fails as `isAway` says, before or after the call was made. */
    const failing = (isAway: () => 'before' | 'after' | undefined): Store => {
      const down = (): never => {
        throw new Error('the store is away');
      };
      return new Proxy(store(), {
        get:
          (target, name: keyof Store) =>
          async (...args: never[]) => {
            if (isAway() === 'before') down();
            const answer = await (target[name] as (...all: never[]) => unknown)(...args);
            return isAway() === 'after' ? down() : answer;
          },
      });
    };

    for (const when of ['before', 'after'] as const)
      test(`while the provider answers, ${when} what is asked was done: the answer is stored later`, async () => {
        let isAway: 'before' | 'after' | undefined;
        vault = vaultOn(
          failing(() => isAway),
          issuer,
          { clock },
        );
        await signIn();
        clock.advance(HOUR_MS);
        issuer.beforeAnswer = async () => {
          isAway = when;
        };
        const token = await use();
        assert.notEqual(token, undefined, 'who has waited is served');
        await assert.rejects(use(), hasCode('credential_unavailable'));
        issuer.beforeAnswer = undefined;
        isAway = undefined;
        assert.equal(await use(), token, 'this replica knows it at once');
        await vault.close();
        const replica = vaultOn(store(), issuer, { clock });
        assert.equal(await replica.accessToken(of, USE), token);
        clock.advance(HOUR_MS);
        assert.ok(![undefined, token].includes(await replica.accessToken(of, USE)), 'the refresh token, too');
        assert.deepEqual(issuer.reused, []);
      });

    test('when the newest token is refused that is not stored yet: it is not given again, nor is a sign-in asked for', async () => {
      let isAway = false;
      // Records can be read, and not written.
      const reading = new Proxy(store(), {
        get: (target, name: keyof Store) =>
          name === 'replaceField' && isAway ? () => Promise.reject(new Error('the store is away')) : target[name],
      });
      vault = vaultOn(reading, issuer, { clock });
      await signIn();
      clock.advance(HOUR_MS);
      isAway = true;
      const token = await use();
      assert.equal(await use(), token);
      await assert.rejects(use({ refused: token }), hasCode('credential_unavailable'));
      clock.advance(HOUR_MS);
      isAway = false;
      await vault.close();
      const replica = vaultOn(store(), issuer, { clock });
      assert.ok(![undefined, token].includes(await replica.accessToken(of, USE)));
      assert.deepEqual(issuer.reused, [], 'the newest refresh token was stored, although the clock was set forward');
    });

    test('before the provider was asked: it is not asked, and a token that is good is given', async () => {
      const token = await signIn();
      let calls = 0;
      // The read is answered, and nothing after it.
      vault = vaultOn(
        failing(() => ((calls += 1) > 2 ? 'before' : undefined)),
        issuer,
        { clock },
      );
      clock.advance(HOUR_MS - 30_000);
      assert.equal(await use(), token);
      assert.equal(issuer.requests, 0);
    });
  });

  test('is asked for no refresh by who has no account, and none is stored by a refresh', async () => {
    assert.equal(await use(), undefined);
    assert.equal(await use({ refused: 'a token' }), undefined);
    assert.deepEqual(await vault.linked(of.user), []);
    assert.equal(await vault.claims(of), undefined);
    assert.equal(await vault.agree(of.user, (await vault.question(of.user)).digest), true);
    assert.deepEqual(await vault.linked(of.user), []);
    assert.equal(issuer.requests, 0);
  });

  test('refuses tokens that are larger than any provider’s', async () => {
    const tokens = { accessToken: 'x'.repeat(200_000) };
    await assert.rejects(vault.put(of, tokens, identityOf(user)), hasCode('credential_unavailable'));
    assert.deepEqual(await vault.linked(of.user), []);
  });
});

/** Holds the next answer of the provider, after the tokens were rotated. */
const held = (issuer: TokenIssuer) => {
  const [arrived, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  issuer.beforeAnswer = () => {
    issuer.beforeAnswer = undefined;
    arrived.resolve();
    return going.promise;
  };
  return { arrived: arrived.promise, goOn: going.resolve, wait: going.promise };
};
