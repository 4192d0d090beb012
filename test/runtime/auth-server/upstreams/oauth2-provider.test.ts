import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Upstream, UpstreamLogin } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import {
  basicClient,
  inTurn,
  json,
  type OAuth2Server,
  sentBack,
  startOAuth2Server,
} from '../../../fixtures/oauth2-server.ts';
import {
  CALLBACK,
  failsAs,
  newUpstreamRequest,
  providerConfig,
  upstreamClient,
  upstreamOf,
} from '../../../fixtures/upstreams.ts';
import { covers } from '../../../requirements.ts';

const SECRET = 'client secret/+:';
const secrets = { '/secrets/client': SECRET };
const TOKENS = { access_token: 'at-1', token_type: 'bearer', refresh_token: 'rt-1', expires_in: 3600, scope: 'read' };

let server: OAuth2Server;
let http: GuardedClient;

before(async () => {
  server = await startOAuth2Server();
  http = upstreamClient();
});

afterEach(() => server.paths.clear());

after(async () => {
  await http.close();
  await server.close();
});

const written = (config: object = {}) => ({
  type: 'oauth2',
  oauth2Config: {
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    clientId: 'vmcp',
    ...config,
  },
});

const signedIn = async (upstream: Upstream): Promise<UpstreamLogin> => {
  const upstreamRequest = newUpstreamRequest();
  return upstream.redeem(sentBack(await upstream.authorizationUrl(upstreamRequest)), upstreamRequest);
};

const last = (path: string) => server.receivedAt(path).at(-1) ?? assert.fail(`nothing was asked at ${path}`);

covers(
  'authserver.upstream.oauth2.authorization-endpoint-url',
  'authserver.upstream.oauth2.client-id-sent',
  'authserver.upstream.oauth2.redirect-uri-default',
  'authserver.upstream.oauth2.scopes',
);
test('the authorization request carries the client, the default redirect URI, the scopes as written, PKCE, and no nonce', async () => {
  const upstreamRequest = newUpstreamRequest();
  const url = await upstreamOf(written({ scopes: ['repo', 'read:user'] }), http).authorizationUrl(upstreamRequest);
  assert.equal(`${url.origin}${url.pathname}`, `${server.origin}/authorize`);
  const { code_challenge: challenge, ...parameters } = Object.fromEntries(url.searchParams);
  assert.equal(challenge?.length, 43);
  assert.deepEqual(parameters, {
    response_type: 'code',
    client_id: 'vmcp',
    redirect_uri: CALLBACK,
    scope: 'repo read:user',
    state: upstreamRequest.state,
    code_challenge_method: 'S256',
  });
  const without = await upstreamOf(written(), http).authorizationUrl(upstreamRequest);
  assert.equal(without.searchParams.has('scope'), false);
  assert.throws(() => providerConfig(written({ authorizationEndpoint: 'ftp://idp.example/authorize' })));
});

test('parameters that the authorization endpoint has already are kept', async () => {
  const config = { authorizationEndpoint: `${server.origin}/authorize?tenant=a%20b` };
  const url = await upstreamOf(written(config), http).authorizationUrl(newUpstreamRequest());
  assert.equal(url.searchParams.get('tenant'), 'a b');
});

covers('authserver.upstream.oauth2.redirect-uri-set');
test('a set redirect URI is sent as written, on both requests', async () => {
  server.paths.set('/token', json(TOKENS));
  const redirectUri = 'https://elsewhere.example/back?x=1';
  const upstream = upstreamOf(written({ redirectUri }), http);
  assert.equal((await upstream.authorizationUrl(newUpstreamRequest())).searchParams.get('redirect_uri'), redirectUri);
  assert.equal(upstream.redirectUri, redirectUri);
  await signedIn(upstream);
  assert.equal(last('/token').form['redirect_uri'], redirectUri);
});

covers('authserver.upstream.oauth2.extra-params');
test('additional parameters are added to the authorization request; resource is only sent where it is written', async () => {
  const additionalAuthorizationParams = { prompt: 'consent', audience: 'api.example' };
  const url = await upstreamOf(written({ additionalAuthorizationParams }), http).authorizationUrl(newUpstreamRequest());
  assert.equal(url.searchParams.get('prompt'), 'consent');
  assert.equal(url.searchParams.get('audience'), 'api.example');
  assert.equal(url.searchParams.has('resource'), false);
});

covers('authserver.upstream.oauth2.token-endpoint-url', 'authserver.upstream.oauth2.client-secret');
test('the code is redeemed at the token endpoint with the secret of the client, which is read each time', async () => {
  server.paths.set('/token', json(TOKENS));
  const rotating = { ...secrets };
  const upstream = upstreamOf(written({ clientSecretFile: '/secrets/client' }), http, { secrets: rotating });
  const upstreamRequest = newUpstreamRequest();
  const { tokens } = await upstream.redeem(sentBack(await upstream.authorizationUrl(upstreamRequest)), upstreamRequest);
  const { method, form, headers } = last('/token');
  assert.deepEqual(
    { method, form, client: basicClient(headers.authorization) },
    {
      method: 'POST',
      form: {
        grant_type: 'authorization_code',
        code: 'the-code',
        redirect_uri: CALLBACK,
        code_verifier: upstreamRequest.codeVerifier,
      },
      client: { id: 'vmcp', secret: SECRET },
    },
  );
  const { expiresAt, ...rest } = tokens;
  assert.deepEqual(rest, { accessToken: 'at-1', refreshToken: 'rt-1', scope: 'read' });
  assert.ok(Math.abs((expiresAt ?? 0) - Date.now() - 3_600_000) < 60_000);
  rotating['/secrets/client'] = 'another';
  await signedIn(upstream);
  assert.equal(basicClient(last('/token').headers.authorization).secret, 'another');
  assert.throws(() => providerConfig(written({ tokenEndpoint: 'token' })));
});

test('a client without a secret names itself and proves possession by PKCE', async () => {
  server.paths.set('/token', json(TOKENS));
  await signedIn(upstreamOf(written(), http));
  const { form, headers } = last('/token');
  assert.equal(form['client_id'], 'vmcp');
  assert.equal(form['code_verifier']?.length, 43);
  assert.equal(form['client_secret'], undefined);
  assert.equal(headers.authorization, undefined);
});

test('a secret that is missing makes the provider unavailable rather than the client public', async () => {
  const upstream = upstreamOf(written({ clientSecretFile: '/secrets/none' }), http, { secrets });
  await assert.rejects(
    upstream.authorizationUrl(newUpstreamRequest()),
    failsAs('unavailable', 'client_secret_missing'),
  );
});

test('a provider that takes the secret in the form only gets it there, from then on at once', async () => {
  server.paths.set('/token', (response, received) =>
    received.form['client_secret'] === SECRET
      ? json(TOKENS)(response, received)
      : json({ error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic realm="x"' })(response, received),
  );
  const upstream = upstreamOf(written({ clientSecretFile: '/secrets/client' }), http, { secrets });
  const before = server.receivedAt('/token').length;
  await signedIn(upstream);
  assert.equal(server.receivedAt('/token').length - before, 2);
  await signedIn(upstream);
  assert.equal(server.receivedAt('/token').length - before, 3);
});

test('a code that is refused is not tried a second time with another client authentication', async () => {
  server.paths.set('/token', json({ error: 'invalid_grant' }, 400));
  const upstream = upstreamOf(written({ clientSecretFile: '/secrets/client' }), http, { secrets });
  const before = server.receivedAt('/token').length;
  await assert.rejects(signedIn(upstream), failsAs('refused', 'invalid_grant'));
  assert.equal(server.receivedAt('/token').length - before, 1);
});

test('a state of another request, a repeated code, and an issuer elsewhere are refused', async () => {
  const upstream = upstreamOf(written(), http);
  const upstreamRequest = newUpstreamRequest();
  const url = await upstream.authorizationUrl(upstreamRequest);
  const twice = sentBack(url);
  twice.append('code', 'another');
  const before = server.received.length;
  const answers: [URLSearchParams, string][] = [
    [sentBack(url, { state: newUpstreamRequest().state }), 'invalid_response'],
    [twice, 'invalid_response'],
    [sentBack(url, { iss: 'https://other.example' }), 'issuer_mismatch'],
    [new URLSearchParams({ state: upstreamRequest.state }), 'invalid_response'],
  ];
  for (const [answer, code] of answers)
    await assert.rejects(upstream.redeem(answer, upstreamRequest), failsAs('refused', code));
  assert.equal(server.received.length, before);
});

test('an issuer that the redirect names on the origin of the authorization endpoint is taken', async () => {
  server.paths.set('/token', json(TOKENS));
  const upstream = upstreamOf(written(), http);
  const upstreamRequest = newUpstreamRequest();
  const answer = sentBack(await upstream.authorizationUrl(upstreamRequest), { iss: `${server.origin}/oauth` });
  assert.equal((await upstream.redeem(answer, upstreamRequest)).tokens.accessToken, 'at-1');
});

test('a refresh keeps what the provider leaves out, and takes what it rotates', async () => {
  server.paths.set(
    '/token',
    inTurn(json({ access_token: 'at-2', token_type: 'bearer' }), json({ ...TOKENS, refresh_token: 'rt-2' })),
  );
  const upstream = upstreamOf(written(), http);
  const first = await upstream.refresh('rt-1', { accessToken: 'at-1', refreshToken: 'rt-1', scope: 'read' });
  assert.deepEqual(first, { accessToken: 'at-2', refreshToken: 'rt-1', scope: 'read' });
  assert.deepEqual(last('/token').form, { grant_type: 'refresh_token', refresh_token: 'rt-1', client_id: 'vmcp' });
  assert.equal((await upstream.refresh('rt-1')).refreshToken, 'rt-2');
});

test('the origin of tokens changes with the token endpoint and the client, and with nothing else', () => {
  const origin = (config: object) => upstreamOf(written(config), http).origin;
  const same = [{}, { scopes: ['x'] }, { authorizationEndpoint: 'https://other.example/a' }].map(origin);
  assert.equal(new Set(same).size, 1);
  const others = [{ tokenEndpoint: 'https://evil.example/token' }, { clientId: 'other' }].map(origin);
  assert.equal(new Set([...same, ...others]).size, 3);
});
