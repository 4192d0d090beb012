import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { RequestHead } from '../../../../runtime/call/inbound.ts';
import { userPorts } from '../../../../runtime/auth-server/vault/user-ports.ts';
import type { TokenVault } from '../../../../runtime/auth-server/vault/vault.ts';
import { connectStrategy } from '../../../../runtime/outgoing/index.ts';
import { systemClock } from '../../../../runtime/process/system-clock.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { errorOf, reasonOf, resultText } from '../../../fixtures/answers.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../../fixtures/gates.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { type OutgoingGateway, startOutgoing } from '../../../fixtures/outgoing.ts';
import { configFile } from '../../../fixtures/runtime.ts';
import { startTokenIssuer, type TokenIssuer } from './token-issuer.ts';
import { HOUR_MS, identityOf, type SetClock, setClock, signInAt, vaultOn } from './vaults.ts';

/** As `userOf` names the issuer of its users. */
const ISSUER = 'https://idp.example';
const INJECT = { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } };

describe('the vault behind the gateway', () => {
  const of = { user: 'alice', provider: 'corp' };
  let clock: SetClock;
  let issuer: TokenIssuer;
  let vault: TokenVault;
  let gateway: OutgoingGateway;
  let recipients: ReadonlyMap<string, readonly string[]>;
  let isRefused: (authorization: string) => boolean;
  const others: FixtureBackend[] = [];

  beforeEach(async () => {
    clock = setClock();
    isRefused = () => false;
    issuer = await startTokenIssuer(clock.now);
    vault = vaultOn(memoryStore({ clock: systemClock }), issuer, { clock, recipientsOf: () => recipients });
    const { upstreamTokenOf } = userPorts(vault, ISSUER);
    gateway = await startOutgoing({
      strategy: { type: 'unauthenticated' },
      backend: {
        on: ({ recorded: { headers } }) => (isRefused(headers.authorization ?? '') ? answerStatus(401) : undefined),
      },
      deps: {
        features: () => {
          const gate = tokenGate(clock.now);
          return {
            gate: {
              ...gate,
              authenticate: async (head: RequestHead) => {
                const user = await gate.authenticate(head);
                return user.kind === 'user' ? { ...user, upstreamToken: upstreamTokenOf(user) } : user;
              },
            },
            connectStrategy: (_config, deps) => connectStrategy(INJECT as never, deps),
          };
        },
      },
    });
    recipients = new Map([['a', [new URL(gateway.backend.url).origin]]]);
    await signInAt(vault, of, issuer.signIn('alice'));
  });
  afterEach(async () => {
    await gateway.stop();
    await issuer.close();
    for (const each of others.splice(0)) await each.close();
  });

  const call = (token = bearer('alice', clock.now() + 2 * HOUR_MS)) =>
    sendModern(gateway.running.url, { headers: { ...token } });
  const credentials = ({ requests }: FixtureBackend): readonly (string | undefined)[] =>
    requests.map(({ headers }) => headers.authorization).filter((each) => each !== undefined);

  test('a call carries the token of the provider, also after its end', async () => {
    assert.equal(resultText(await call()), 'echo undefined');
    clock.advance(HOUR_MS);
    assert.equal(resultText(await call()), 'echo undefined');
    const last = await vault.accessToken(of, {});
    assert.equal(credentials(gateway.backend).at(-1), `Bearer ${last}`);
    assert.equal(issuer.refreshes.get('alice'), 1);
  });

  test('a token of a client that is not valid starts no refresh: it is checked first', async () => {
    clock.advance(HOUR_MS);
    const calls = Array.from({ length: 20 }, () => call(bearer('alice', clock.now() - 1)));
    for (const { status } of await Promise.all(calls)) assert.equal(status, 401);
    assert.equal(issuer.requests, 0);
    assert.deepEqual(credentials(gateway.backend), []);
  });

  test('a backend whose address was edited gets no token, until the user has agreed to the new one', async () => {
    assert.equal(resultText(await call()), 'echo undefined');
    const thief = await startBackend();
    others.push(thief);
    recipients = new Map([['a', [new URL(thief.url).origin]]]);
    assert.equal(gateway.running.reload([configFile({ a: thief.url })].flat()).ok, true);
    assert.equal(errorOf(await call()).data.reason, 'login_required');
    await vault.put(of, issuer.signIn('alice'), identityOf('alice'));
    assert.equal(errorOf(await call()).data.reason, 'login_required', 'a sign-in alone is no consent');
    assert.deepEqual(credentials(thief), []);
    const { accounts, digest } = await vault.question(of.user);
    assert.deepEqual(accounts[0]?.notAgreed, recipients, 'the page of consent names the new host');
    await vault.agree(of.user, digest);
    assert.equal(resultText(await call()), 'echo undefined');
    assert.equal(credentials(thief).at(-1), `Bearer ${await vault.accessToken(of, {})}`);
  });

  test('a token that the backend refuses is refreshed once, and the call succeeds', async () => {
    const first = await vault.accessToken(of, {});
    isRefused = (authorization) => authorization === `Bearer ${first}`;
    const calls = await Promise.all(Array.from({ length: 10 }, () => call()));
    for (const each of calls) assert.equal(resultText(each), 'echo undefined');
    assert.equal(issuer.refreshes.get('alice'), 1);
  });

  test('a backend that refuses every token makes no provider refresh for each call', async () => {
    isRefused = (authorization) => authorization.startsWith('Bearer access');
    for (let at = 0; at < 20; at += 1) {
      await call();
      gateway.clock.advance(6_000);
    }
    assert.equal(issuer.refreshes.get('alice'), 1);
  });

  test('a provider that is away fails the call, names backend and provider, and no more', async () => {
    clock.advance(HOUR_MS);
    issuer.fault = () => 'away';
    const failed = await call();
    assert.equal(reasonOf(failed), 'credential_unavailable');
    assert.equal(
      resultText(failed),
      'no credential for backend "a" (upstream_inject): the token of "corp" cannot be had',
    );
    assert.doesNotMatch(JSON.stringify([gateway.lines, failed.json]), /access-|refresh-/);
  });

  test('a user of this server whose account has ended is asked to sign in there', async () => {
    clock.advance(HOUR_MS);
    issuer.endFamilies();
    const challenged = await call();
    assert.equal(challenged.status, 401);
    assert.match(challenged.headers.get('www-authenticate') ?? '', /scope="upstream:corp"/);
  });
});
