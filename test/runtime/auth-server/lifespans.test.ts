import assert from 'node:assert/strict';
import { afterEach, suite, test } from 'node:test';
import { decodeJwt } from 'jose';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { codeIn, registerClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const clean: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

const started = async (tokenLifespans?: object): Promise<AuthServerGateway> => {
  const gateway = await startAuthServer({ authServer: { ...(tokenLifespans && { tokenLifespans }) } });
  clean.unshift(gateway.stop);
  return gateway;
};

suite('lifespans', { skip: noCertificates }, () => {
  covers('authserver.token-lifespans.access-set');
  test('of access tokens are those of the configuration', async () => {
    const gateway = await started({ accessTokenLifespan: '5m' });
    const answer = await (await registerClient(gateway)).tokens();
    assert.equal(answer.body['expires_in'], 300);
    const { exp = 0, iat = 0 } = decodeJwt(textIn(answer, 'access_token'));
    assert.equal(exp - iat, 300);
  });

  covers('authserver.token-lifespans.auth-code-default', 'authserver.token-lifespans.auth-code-set');
  test('of codes are 10 minutes, or those of the configuration', async () => {
    for (const [lifespans, good, over] of [
      [undefined, 9 * MINUTE, 2 * MINUTE],
      [{ authCodeLifespan: '1m' }, 0.5 * MINUTE, MINUTE],
    ] as const) {
      const gateway = await started(lifespans);
      const client = await registerClient(gateway);
      const [first, second] = [codeIn(await client.signIn()), codeIn(await client.signIn())];
      gateway.later(good);
      assert.equal((await client.redeem(first)).status, 200);
      gateway.later(over);
      assert.equal((await client.redeem(second)).body['error'], 'invalid_grant');
    }
  });

  covers('authserver.token-lifespans.refresh-default', 'authserver.token-lifespans.refresh-set');
  test('of refresh tokens are 7 days, or those of the configuration, from each use on', async () => {
    for (const [lifespans, lifeMs] of [
      [undefined, 168 * HOUR],
      [{ refreshTokenLifespan: '2h' }, 2 * HOUR],
    ] as const) {
      const gateway = await started(lifespans);
      const client = await registerClient(gateway);
      const first = await client.tokens();
      gateway.later(lifeMs - MINUTE);
      const second = await client.refresh(textIn(first, 'refresh_token'));
      assert.equal(second.status, 200);
      gateway.later(lifeMs - MINUTE);
      const third = await client.refresh(textIn(second, 'refresh_token'));
      assert.equal(third.status, 200);
      gateway.later(lifeMs + MINUTE);
      assert.equal((await client.refresh(textIn(third, 'refresh_token'))).body['error'], 'invalid_grant');
    }
  });

  test('of logins are half an hour', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const page = await browser.open(client.authorizationUrl());
    gateway.later(31 * MINUTE);
    assert.equal((await browser.press(page, 'approve')).status, 400);
  });
});
