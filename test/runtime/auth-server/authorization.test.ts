import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { codeIn, REDIRECT, registerClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';

suite('authorization requests', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  before(async () => {
    gateway = await startAuthServer({
      authServer: { baselineClientScopes: ['openid', 'email'] },
      oidc: { scopes: [] },
    });
  });
  after(() => gateway.stop());

  const enter = (token: string) => post(gateway.running().url, INITIALIZE, { authorization: `Bearer ${token}` });

  covers(
    'authserver.issues-own-jwt',
    'authserver.issuer.iss-claim',
    'authserver.issued-jwt-accepted',
    'authserver.in-process-jwks',
    'authserver.token-lifespans.access-default',
    'authserver.dcr-offered',
    'endpoints.register',
    'authserver.signing-keys.ephemeral',
    'authserver.hmac.ephemeral',
  );
  test('lead to a JWT of this server, which the gate takes without asking anybody', async () => {
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.body['expires_in'], 3600);
    const token = textIn(answer, 'access_token');
    const { iss, aud, exp = 0, iat = 0, client_id, name, email } = decodeJwt(token);
    assert.deepEqual(
      { iss, aud, life: exp - iat, client_id, name, email },
      {
        iss: gateway.issuer,
        aud: gateway.resource,
        life: 3600,
        client_id: client.id,
        name: 'Alice',
        email: 'alice@example.org',
      },
    );
    assert.equal(decodeProtectedHeader(token).typ, 'at+jwt');
    assert.equal((await enter(token)).status, 200);
    const forged = `${token.slice(0, -8)}AAAAAAAA`;
    assert.equal((await enter(forged)).status, 401);
  });

  covers('authserver.redirects-upstream', 'endpoints.authorize', 'authserver.redirects-to-oidc', 'endpoints.callback');
  test('send the browser to the identity provider, and its answer goes on with the login', async () => {
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const [provider] = gateway.providers;
    await browser.open(client.authorizationUrl());
    const visited = browser.visited.map(({ origin, pathname }) => `${origin}${pathname}`).toReversed();
    assert.equal(visited[0], `${gateway.issuer}/oauth/authorize`);
    assert.equal(visited[1], `${provider?.issuer}/auth`);
    assert.ok(visited.includes(`${gateway.resource}/oauth/callback`), visited.join('\n'));
    assert.equal(visited.at(-1), `${gateway.issuer}/oauth/consent`);
  });

  test('name the issuer in every answer, refusals included', async () => {
    const client = await registerClient(gateway);
    const denied = await client.signIn({ decision: 'deny' });
    assert.equal(denied.searchParams.get('error'), 'access_denied');
    const refused = await client.signIn({ parameters: { scope: 'nonsense' } });
    assert.equal(refused.searchParams.get('error'), 'invalid_scope');
    const approved = await client.signIn();
    for (const url of [denied, refused, approved]) {
      assert.equal(url.searchParams.get('iss'), gateway.issuer);
      assert.equal(url.searchParams.get('state'), 'the state');
    }
  });

  test('need PKCE with S256', async () => {
    const client = await registerClient(gateway);
    for (const parameters of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
    ]) {
      const refused = await client.signIn({ parameters });
      assert.equal(refused.searchParams.get('error'), 'invalid_request');
      assert.equal(refused.searchParams.get('code'), null);
    }
    const code = codeIn(await client.signIn());
    assert.equal((await client.redeem(code, { code_verifier: 'x'.repeat(43) })).body['error'], 'invalid_grant');
  });

  test('may name the resource in any of its forms, and no other one', async () => {
    const client = await registerClient(gateway);
    const { resource } = gateway;
    for (const form of [resource, `${resource}/`, resource.replace('http:', 'HTTP:')]) {
      const answer = await client.tokens({ parameters: { resource: form } });
      assert.equal(decodeJwt(textIn(answer, 'access_token')).aud, resource, form);
      const refreshed = await client.refresh(textIn(answer, 'refresh_token'), { resource: form });
      assert.equal(decodeJwt(textIn(refreshed, 'access_token')).aud, resource, form);
    }
    const other = await client.signIn({ parameters: { resource: 'https://other.example/mcp' } });
    assert.equal(other.searchParams.get('error'), 'invalid_target');
    const answer = await client.redeem(codeIn(await client.signIn()), { resource: 'https://other.example/mcp' });
    assert.equal(answer.body['error'], 'invalid_target');
  });

  covers('authserver.authorize.unregistered-scope-refused');
  test('may not ask for a scope that is neither registered nor in the baseline', async () => {
    const client = await registerClient(gateway, { scope: 'openid' });
    for (const scope of ['profile', 'openid profile', 'openid nonsense']) {
      const refused = await client.signIn({ parameters: { scope } });
      assert.equal(refused.searchParams.get('error'), 'invalid_scope', scope);
    }
  });

  covers(
    'authserver.authorize.baseline-scope-allowed',
    'authserver.dcr.baseline-scopes-union',
    'authserver.dcr.baseline-scopes-response',
    'authserver.dcr.baseline-scopes-every-client',
  );
  test('may ask for the baseline, whatever the client has registered', async () => {
    const registered = await Promise.all(
      [{ scope: 'profile' }, { scope: 'openid' }, {}].map((metadata) => registerClient(gateway, metadata)),
    );
    for (const client of registered) {
      const scopes = String(client.registered['scope']).split(' ');
      assert.ok(
        ['openid', 'email'].every((scope) => scopes.includes(scope)),
        scopes.join(' '),
      );
      const answer = await client.tokens({ parameters: { scope: 'openid email' } });
      assert.equal(answer.body['scope'], 'openid email');
    }
    assert.deepEqual(String(registered[0]?.registered['scope']).split(' ').toSorted(), ['email', 'openid', 'profile']);
  });

  test('that leave the scopes out get what the client has registered', async () => {
    const client = await registerClient(gateway, { scope: 'openid profile' });
    const answer = await client.tokens();
    assert.deepEqual(textIn(answer, 'scope').split(' ').toSorted(), ['email', 'openid', 'profile']);
  });

  test('give a refresh token whether or not the client asks for consent or offline_access', async () => {
    const client = await registerClient(gateway);
    for (const parameters of [
      { scope: 'openid' },
      { scope: 'openid offline_access' },
      { scope: 'openid offline_access', prompt: 'consent' },
      { scope: 'openid', prompt: 'select_account' },
    ]) {
      const answer = await client.tokens({ parameters });
      const refreshed = await client.refresh(textIn(answer, 'refresh_token'));
      assert.equal(refreshed.status, 200);
      assert.equal((await enter(textIn(refreshed, 'access_token'))).status, 200);
      assert.equal(answer.body['scope'], parameters.scope);
    }
  });

  test('with prompt=none are refused: nobody signs in unasked', async () => {
    const client = await registerClient(gateway);
    const refused = await client.signIn({ parameters: { prompt: 'none' } });
    assert.match(refused.searchParams.get('error') ?? '', /^(login|consent|interaction)_required$/);
  });

  test('ask the identity provider again each time, also in a browser that has just signed in', async () => {
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const [provider] = gateway.providers;
    const count = (): number => provider?.askedFor('/token').length ?? 0;
    const beforehand = count();
    await client.signIn({ browser });
    await client.signIn({ browser });
    assert.equal(count() - beforehand, 2);
  });

  test('of a client that nobody knows show a page, and go nowhere', async () => {
    const client = await registerClient(gateway);
    const browser = gateway.browser();
    const page = await browser.open(client.authorizationUrl({ client_id: 'nobody' }));
    assert.equal(page.status, 400);
    assert.match(page.headers?.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(browser.visited.length, 1);
    const answer = await client.redeem('a code', { client_id: 'nobody' });
    assert.equal(answer.status, 401);
    assert.equal(answer.body['error'], 'invalid_client');
  });

  test('of another redirect address than the registered ones show a page, and go nowhere', async () => {
    const client = await registerClient(gateway);
    for (const redirect_uri of [
      'https://evil.example/callback',
      `${REDIRECT}/more`,
      'http://localhost.evil.example/',
    ]) {
      const browser = gateway.browser();
      const page = await browser.open(client.authorizationUrl({ redirect_uri }));
      assert.equal(page.status, 400, redirect_uri);
      assert.equal(browser.visited.length, 1);
    }
  });

  test('may come back to another port of loopback than the registered one', async () => {
    const client = await registerClient(gateway);
    const elsewhere = REDIRECT.replace('33418', '51234');
    const browser = gateway.browser();
    const stopAt = ({ href }: URL): boolean => href.startsWith(elsewhere);
    const page = await browser.open(client.authorizationUrl({ redirect_uri: elsewhere }));
    const { url } = await browser.press(page, 'approve', { stopAt });
    assert.equal((await client.redeem(codeIn(url), { redirect_uri: elsewhere })).status, 200);
  });

  test('have an ID token for OpenID clients, which is no access token', async () => {
    const client = await registerClient(gateway);
    const idToken = textIn(await client.tokens({ parameters: { scope: 'openid profile', nonce: 'n' } }), 'id_token');
    const { iss, aud, sub, nonce } = decodeJwt(idToken);
    assert.deepEqual({ iss, aud, sub, nonce }, { iss: gateway.issuer, aud: client.id, sub: 'corp|alice', nonce: 'n' });
    assert.equal((await enter(idToken)).status, 401);
  });

  test('end where a code is used twice: the refresh token of the first use is good no more', async () => {
    const client = await registerClient(gateway);
    const code = codeIn(await client.signIn());
    const first = await client.redeem(code);
    assert.equal((await client.redeem(code)).body['error'], 'invalid_grant');
    assert.equal((await client.refresh(textIn(first, 'refresh_token'))).body['error'], 'invalid_grant');
  });

  test('give tokens that the client can revoke', async () => {
    const client = await registerClient(gateway);
    const refreshToken = textIn(await client.tokens(), 'refresh_token');
    assert.equal((await client.revoke(refreshToken)).status, 200);
    assert.equal((await client.refresh(refreshToken)).body['error'], 'invalid_grant');
  });
});
