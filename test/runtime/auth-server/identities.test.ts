import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, type JWTPayload } from 'jose';
import { type AuthServerGateway, startAuthServer, type TestBrowser } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { registerClient, textIn } from '../../fixtures/signing-in.ts';

describe('what identity providers say of a user', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  before(async () => {
    gateway = await startAuthServer();
  });
  after(() => gateway.stop());

  const claimsOf = async (user: object): Promise<JWTPayload> => {
    gateway.providers[0]?.instead.set('/me', (_request, response) => {
      response.end(JSON.stringify({ sub: 'alice', name: 'Mallory', ...user }));
    });
    const client = await registerClient(gateway);
    return decodeJwt(textIn(await client.tokens(), 'access_token'));
  };

  test('an address that the provider has not verified is in no token', async () => {
    const claims = await claimsOf({ email: 'ceo@corp.example', email_verified: false });
    assert.deepEqual([claims['name'], claims['email'], claims['email_verified']], ['Mallory', undefined, undefined]);
  });

  test('one that it has verified is told as such', async () => {
    const claims = await claimsOf({ email: 'mallory@corp.example', email_verified: true });
    assert.deepEqual([claims['email'], claims['email_verified']], ['mallory@corp.example', true]);
  });
});

test('a first provider that is replaced under its name names other people', { skip: noCertificates }, async (t) => {
  const gateway = await startAuthServer({ providers: ['corp', 'code', 'other'] });
  t.after(gateway.stop);
  const clientSecretFile = await gateway.write('secret', 'a client secret');
  const [corp = '', code = '', other = ''] = gateway.providers.map(({ issuer }) => issuer);
  const scopes = ['openid', 'offline_access', 'profile', 'email'];
  const provider = (name: string, issuerUrl: string) => {
    return { name, type: 'oidc', oidcConfig: { issuerUrl, clientId: 'vmcp', clientSecretFile, scopes: [...scopes] } };
  };
  const reload = (first: string): void => {
    const upstreamProviders = [provider('corp', first), provider('code', code)];
    const more = { extensions: { authServer: { upstreams: { code: { signIn: 'onDemand' } } } } };
    const result = gateway.running().reload(gateway.file({ authServer: { upstreamProviders }, more }));
    assert.equal(result.ok, true, JSON.stringify(result));
  };
  const accounts = async (browser: TestBrowser): Promise<readonly string[]> => {
    const { text } = await browser.open(`${gateway.issuer}/oauth/accounts`);
    return [...text.matchAll(/value="(sign-in|disconnect)"/g)].map(([, what = '']) => what).toSorted();
  };
  reload(corp);
  const client = await registerClient(gateway);
  const alice = gateway.browser();
  const tokens = await client.tokens({ browser: alice, parameters: { scope: 'openid upstream:code' } });
  const linked = await accounts(alice);
  assert.equal(linked.filter((what) => what === 'disconnect').length, 2, linked.join());

  reload(other);
  const refreshed = await client.refresh(textIn(tokens, 'refresh_token'));
  assert.deepEqual([refreshed.status, refreshed.body['error']], [400, 'invalid_grant']);
  // The other provider calls somebody alice as well.
  const namesake = await accounts(gateway.browser());
  assert.equal(namesake.filter((what) => what === 'disconnect').length, 1, namesake.join());

  reload(corp);
  assert.equal((await client.refresh(textIn(tokens, 'refresh_token'))).status, 200);
});
