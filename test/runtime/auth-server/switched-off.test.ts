import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { Store } from '../../../runtime/store/index.ts';
import { startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { codeIn, registerClient, textIn } from '../../fixtures/signing-in.ts';

const revoke = async (managementUrl: string, body: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  const url = `${managementUrl}/users/revoke`;
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
};

/** A gateway, and a client, at which something happens before each map of these keys is made, from `during` on. */
const gatewayWith = async (t: TestContext, isMeant: (key: string, store: Store) => boolean) => {
  let meanwhile = async (): Promise<void> => {};
  const storeSeen = (opened: Store): Store => ({
    ...opened,
    createMap: async (key, ...how) => {
      if (isMeant(key, opened)) await meanwhile();
      return opened.createMap(key, ...how);
    },
  });
  const gateway = await startAuthServer({ storeSeen });
  t.after(gateway.stop);
  const client = await registerClient(gateway);
  return { gateway, client, during: (act: () => Promise<void>) => (meanwhile = act) };
};

suite('a user who is switched off', { skip: noCertificates }, () => {
  test('has no valid token, code or login any more, and none at the identity provider', async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    const code = codeIn(await client.signIn());
    const enter = async (): Promise<number> => {
      const authorization = `Bearer ${textIn(answer, 'access_token')}`;
      return (await post(gateway.running().url, INITIALIZE, { authorization })).status;
    };
    assert.equal(await enter(), 200);

    assert.equal(await revoke(gateway.running().managementUrl, { subject: 'corp|alice' }), 200);
    assert.equal(await enter(), 401);
    assert.equal((await client.refresh(textIn(answer, 'refresh_token'))).body['error'], 'invalid_grant');
    assert.equal((await client.redeem(code)).body['error'], 'invalid_grant');
    assert.ok((gateway.providers[0]?.askedFor('/token/revocation').length ?? 0) > 0);
  });

  test('gets nothing that lasts from a login that was about to end at that moment', async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    const client = await registerClient(gateway);
    assert.equal(await revoke(gateway.running().managementUrl, { subject: 'corp|alice' }), 200);
    const page = await gateway.browser().open(client.authorizationUrl());
    assert.deepEqual([page.status, page.url.pathname], [400, '/mcp/oauth/callback']);
    assert.match(page.text, /Start again/);
    gateway.later(2_001);
    assert.equal((await client.tokens()).status, 200);
  });

  test('has no account left whose tokens were about to be kept at that moment', async (t) => {
    const accounts = new Set<string>();
    let store: Store | undefined;
    const { gateway, client, during } = await gatewayWith(t, (key, opened) => {
      if (!key.startsWith('vault:accounts:')) return false;
      accounts.add(key);
      store = opened;
      return true;
    });
    during(async () => {
      assert.equal(await revoke(gateway.running().managementUrl, { subject: 'corp|alice' }), 200);
    });
    const page = await gateway.browser().open(client.authorizationUrl());
    assert.match(page.text, /Start again/);
    assert.equal(accounts.size, 1);
    for (const key of accounts) assert.equal(await store?.readMap(key), undefined);
    assert.ok((gateway.providers[0]?.askedFor('/token/revocation').length ?? 0) > 0);
  });

  test('gets no code from an approval that was about to be answered at that moment', async (t) => {
    const { gateway, client, during } = await gatewayWith(t, (key) => /(^|:)AuthorizationCode:/.test(key));
    during(async () => {
      assert.equal(await revoke(gateway.running().managementUrl, { subject: 'corp|alice' }), 200);
      gateway.later(2_001);
    });
    const browser = gateway.browser();
    const page = await browser.press(await browser.open(client.authorizationUrl()), 'approve');
    assert.match(page.text, /Start again/);
  });

  test('is named by the subject of the tokens, at a server that has issued some', async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    for (const body of [{}, { subject: '' }, { subject: 1 }])
      assert.equal(await revoke(gateway.running().managementUrl, body), 400);
    const other = await startRuntime(configFile({}));
    t.after(other.stop);
    assert.equal(await revoke(other.managementUrl, { subject: 'corp|alice' }), 409);
  });
});
