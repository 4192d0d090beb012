import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import type { Upstream, UpstreamLogin } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { basicClient } from '../../../fixtures/oauth2-server.ts';
import { ALICE, type OpenIdProvider, startOpenIdProvider } from '../../../fixtures/openid-provider.ts';
import {
  CALLBACK,
  failsAs,
  newUpstreamRequest,
  providerConfig,
  upstreamClient,
  upstreamOf,
} from '../../../fixtures/upstreams.ts';
import { covers } from '../../../requirements.ts';

const skip = noCertificates;
const SECRET = 'client secret/+:';
const secrets = { '/secrets/client': SECRET };
const ELSEWHERE = 'https://elsewhere.example/back';
const WELL_KNOWN = '/.well-known/openid-configuration';

let certificates: TestCertificates;
let idp: OpenIdProvider;
let http: GuardedClient;

before(async () => {
  if (skip !== false) return;
  certificates = await testCertificates();
  http = upstreamClient(certificates.caFile);
  const code = {
    redirect_uris: [CALLBACK, ELSEWHERE],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
  };
  idp = await startOpenIdProvider({
    certificates,
    clients: [
      { client_id: 'vmcp', client_secret: SECRET, ...code },
      { client_id: 'public', token_endpoint_auth_method: 'none', ...code },
    ],
  });
});

afterEach(() => idp?.instead.clear());

after(async () => {
  await http?.close();
  await idp?.close();
  await certificates?.remove();
});

const oidc = (config: object = {}) => ({
  type: 'oidc',
  oidcConfig: { issuerUrl: idp.issuer, clientId: 'vmcp', clientSecretFile: '/secrets/client', ...config },
});

const upstream = (config: object = {}): Upstream => upstreamOf(oidc(config), http, { secrets });

const signedIn = async (of: Upstream): Promise<UpstreamLogin> => {
  const upstreamRequest = newUpstreamRequest();
  const back = await idp.signIn(await of.authorizationUrl(upstreamRequest));
  return of.redeem(back.searchParams, upstreamRequest);
};

const last = (path: string) => idp.askedFor(path).at(-1) ?? assert.fail(`nothing was asked at ${path}`);
const everyScope = { scopes: ['openid', 'offline_access', 'profile', 'email'] };

covers(
  'authserver.upstream.oidc.discovery',
  'authserver.upstream.oidc.client-id-required',
  'authserver.upstream.oidc.redirect-uri-default',
  'authserver.upstream.oidc.scopes-default',
);
test(
  'the user is sent to the discovered endpoint with the client, the default redirect URI and scopes, nonce and PKCE',
  { skip },
  async () => {
    const before = idp.askedFor(WELL_KNOWN).length;
    const upstreamRequest = newUpstreamRequest();
    const url = await upstream().authorizationUrl(upstreamRequest);
    assert.equal(idp.askedFor(WELL_KNOWN).length - before, 1);
    assert.equal(`${url.origin}${url.pathname}`, `${idp.issuer}/auth`);
    const { code_challenge: challenge, ...parameters } = Object.fromEntries(url.searchParams);
    assert.equal(challenge?.length, 43);
    assert.deepEqual(parameters, {
      response_type: 'code',
      client_id: 'vmcp',
      redirect_uri: CALLBACK,
      scope: 'openid offline_access',
      state: upstreamRequest.state,
      nonce: upstreamRequest.nonce,
      code_challenge_method: 'S256',
    });
    assert.throws(() => providerConfig(oidc({ clientId: undefined })));
  },
);

covers('authserver.upstream.oidc.client-secret-sent', 'authserver.upstream.oidc.userinfo-discovered');
test(
  'a user signs in: the code is redeemed with the secret, name and address are those of the discovered userinfo endpoint',
  { skip },
  async () => {
    const { identity, tokens } = await signedIn(upstream(everyScope));
    assert.deepEqual(identity, { subject: 'alice', ...ALICE });
    assert.deepEqual(basicClient(last('/token').headers.authorization), { id: 'vmcp', secret: SECRET });
    assert.equal(last('/me').headers.authorization, `Bearer ${tokens.accessToken}`);
    assert.equal(decodeJwt(tokens.idToken ?? '').sub, 'alice');
    assert.ok(tokens.refreshToken);
    assert.ok((tokens.expiresAt ?? 0) > Date.now());
  },
);

covers('authserver.upstream.oidc.public-client');
test('without a secret the client is public, and PKCE proves possession', { skip }, async () => {
  const of = upstream({ clientId: 'public', clientSecretFile: undefined });
  assert.equal((await signedIn(of)).identity.subject, 'alice');
  const { form, headers } = last('/token');
  assert.equal(form.get('client_id'), 'public');
  assert.equal(form.get('code_verifier')?.length, 43);
  assert.equal(form.get('client_secret') ?? headers.authorization, undefined);
  assert.equal(last('/auth').query.get('code_challenge')?.length, 43);
});

covers('authserver.upstream.oidc.redirect-uri-set');
test('a set redirect URI is sent as written', { skip }, async () => {
  const of = upstream({ redirectUri: ELSEWHERE });
  await signedIn(of);
  assert.equal(last('/auth').query.get('redirect_uri'), ELSEWHERE);
  assert.equal(last('/token').form.get('redirect_uri'), ELSEWHERE);
});

covers('authserver.upstream.oidc.scopes-explicit', 'authserver.upstream.oidc.extra-params');
test('explicit scopes replace the default ones, and additional parameters are added', { skip }, async () => {
  const additionalAuthorizationParams = { access_type: 'offline', login_hint: 'alice@example.org' };
  const url = await upstream({ scopes: ['openid', 'email'], additionalAuthorizationParams }).authorizationUrl(
    newUpstreamRequest(),
  );
  assert.equal(url.searchParams.get('scope'), 'openid email');
  assert.equal(url.searchParams.get('access_type'), 'offline');
  assert.equal(url.searchParams.get('login_hint'), 'alice@example.org');
  assert.equal(url.searchParams.has('resource'), false);
});

covers('authserver.upstream.oidc.userinfo-override');
test('userInfoOverride replaces the discovered endpoint and its mapping', { skip }, async () => {
  idp.instead.set('/directory', (_request, response) => void response.end('{"id":"E-17","sub":"x","mail":"a@x"}'));
  const userInfoOverride = {
    endpointUrl: `${idp.issuer}/directory`,
    fieldMapping: { subjectFields: ['id'], emailFields: ['mail'] },
  };
  const before = idp.askedFor('/me').length;
  const { identity, tokens } = await signedIn(upstream({ userInfoOverride }));
  assert.deepEqual(identity, { subject: 'E-17', email: 'a@x' });
  assert.equal(idp.askedFor('/me').length, before);
  assert.equal(last('/directory').headers.authorization, `Bearer ${tokens.accessToken}`);
});

test('userinfo of another subject than that of the ID token signs nobody in', { skip }, async () => {
  idp.instead.set('/me', (_request, response) => void response.end('{"sub":"mallory","name":"Alice"}'));
  await assert.rejects(signedIn(upstream()), failsAs('refused', 'subject_mismatch'));
});

test(
  'a userinfo endpoint that refuses the access token leaves the ID token; one that is away is waited for',
  { skip },
  async () => {
    idp.instead.set('/me', (_request, response) => void response.writeHead(401).end());
    assert.deepEqual((await signedIn(upstream(everyScope))).identity, { subject: 'alice' });
    idp.instead.set('/me', (_request, response) => void response.writeHead(503).end());
    await assert.rejects(signedIn(upstream(everyScope)), failsAs('unavailable', 'http_503'));
  },
);

test('scopes without openid sign nobody in, unless another userinfo endpoint says who it is', { skip }, async () => {
  idp.instead.set('/token', (_request, response) => void response.end('{"access_token":"at","token_type":"bearer"}'));
  idp.instead.set('/directory', (_request, response) => void response.end('{"sub":"E-17"}'));
  const userInfoOverride = { endpointUrl: `${idp.issuer}/directory` };
  await assert.rejects(signedIn(upstream({ scopes: ['openid'] })), failsAs('refused', 'no_id_token'));
  await assert.rejects(signedIn(upstream({ userInfoOverride })), failsAs('refused', 'no_id_token'));
  const url = await upstream({ scopes: ['email'], userInfoOverride }).authorizationUrl(newUpstreamRequest());
  const upstreamRequest = { ...newUpstreamRequest(), state: url.searchParams.get('state') ?? '' };
  const answer = new URLSearchParams({ code: 'c', state: upstreamRequest.state, iss: idp.issuer });
  const { identity, tokens } = await upstream({ scopes: ['email'], userInfoOverride }).redeem(answer, upstreamRequest);
  assert.deepEqual([identity, tokens], [{ subject: 'E-17' }, { accessToken: 'at' }]);
});

test(
  'a redirect back without the announced issuer, or of another one, is refused before the code is sent',
  { skip },
  async () => {
    const of = upstream();
    const upstreamRequest = newUpstreamRequest();
    const back = (await idp.signIn(await of.authorizationUrl(upstreamRequest))).searchParams;
    assert.equal(back.get('iss'), idp.issuer);
    const before = idp.askedFor('/token').length;
    const without = new URLSearchParams(back);
    without.delete('iss');
    const other = new URLSearchParams(back);
    other.set('iss', 'https://other.example');
    for (const answer of [without, other])
      await assert.rejects(of.redeem(answer, upstreamRequest), failsAs('refused', 'issuer_mismatch'));
    assert.equal(idp.askedFor('/token').length, before);
    assert.equal((await of.redeem(back, upstreamRequest)).identity.subject, 'alice');
  },
);

test(
  'a code that was redeemed before is refused as invalid_grant, and a wrong secret as invalid_client',
  { skip },
  async () => {
    const of = upstream();
    const upstreamRequest = newUpstreamRequest();
    const back = (await idp.signIn(await of.authorizationUrl(upstreamRequest))).searchParams;
    await of.redeem(back, upstreamRequest);
    await assert.rejects(of.redeem(back, upstreamRequest), failsAs('refused', 'invalid_grant'));
    const wrong = upstreamOf(oidc(), http, { secrets: { '/secrets/client': 'wrong' } });
    await assert.rejects(signedIn(wrong), failsAs('refused', 'invalid_client'));
  },
);

test('a code that was stolen is worthless without the verifier', { skip }, async () => {
  const of = upstream();
  const upstreamRequest = newUpstreamRequest();
  const back = (await idp.signIn(await of.authorizationUrl(upstreamRequest))).searchParams;
  const thief = { ...upstreamRequest, codeVerifier: newUpstreamRequest().codeVerifier };
  await assert.rejects(of.redeem(back, thief), failsAs('refused', 'invalid_grant'));
});

test('a refresh token is exchanged for the next one; the one of before is refused', { skip }, async () => {
  const of = upstream(everyScope);
  const { tokens } = await signedIn(of);
  const newer = await of.refresh(tokens.refreshToken ?? '', tokens);
  assert.notEqual(newer.accessToken, tokens.accessToken);
  assert.ok(newer.refreshToken !== undefined && newer.refreshToken !== tokens.refreshToken);
  assert.equal(newer.scope, tokens.scope);
  assert.equal(decodeJwt(newer.idToken ?? '').sub, 'alice');
  assert.notEqual(newer.idToken, tokens.idToken);
  await assert.rejects(of.refresh(tokens.refreshToken ?? ''), failsAs('refused', 'invalid_grant'));
});

test('revoked tokens are worth nothing any more; a provider that is away is no error', { skip }, async () => {
  const of = upstream(everyScope);
  const { tokens } = await signedIn(of);
  await of.revoke(tokens);
  const revoked = idp.askedFor('/token/revocation').slice(-2);
  assert.deepEqual(
    revoked.map(({ form }) => [form.get('token_type_hint'), form.get('token')]),
    [
      ['refresh_token', tokens.refreshToken],
      ['access_token', tokens.accessToken],
    ],
  );
  await assert.rejects(of.refresh(tokens.refreshToken ?? ''), failsAs('refused', 'invalid_grant'));
  const attempts = idp.askedFor('/token/revocation').length;
  idp.instead.set('/token/revocation', (request) => request.socket.destroy());
  await of.revoke(tokens);
  assert.equal(idp.askedFor('/token/revocation').length - attempts, 2);
});

test(
  'metadata is fetched once for all who wait, again after an hour, and goes on while the provider is away',
  { skip },
  async () => {
    const clock = frozenClock(Date.now());
    const of = upstreamOf(oidc(), http, { secrets, clock });
    const count = () => idp.askedFor(WELL_KNOWN).length;
    const before = count();
    await Promise.all(Array.from({ length: 10 }, () => of.authorizationUrl(newUpstreamRequest())));
    assert.equal(count() - before, 1);
    idp.instead.set(WELL_KNOWN, (_request, response) => void response.writeHead(503).end());
    clock.advance(3_600_000);
    await of.authorizationUrl(newUpstreamRequest());
    await of.authorizationUrl(newUpstreamRequest());
    while (count() - before < 2) await setImmediate();
    await of.authorizationUrl(newUpstreamRequest());
    assert.equal(count() - before, 2);
  },
);

test('a provider that is away at first is asked again, though not by each user', { skip }, async () => {
  const clock = frozenClock(Date.now());
  const of = upstreamOf(oidc(), http, { secrets, clock });
  const count = () => idp.askedFor(WELL_KNOWN).length;
  const before = count();
  idp.instead.set(WELL_KNOWN, (_request, response) => void response.writeHead(503).end());
  for (let tries = 0; tries < 5; tries += 1)
    await assert.rejects(of.authorizationUrl(newUpstreamRequest()), failsAs('unavailable', 'http_503'));
  assert.equal(count() - before, 1);
  idp.instead.clear();
  clock.advance(2_000);
  await of.authorizationUrl(newUpstreamRequest());
});

test('the issuer of the document has to be the configured one', { skip }, async () => {
  const document = (issuer: unknown) =>
    idp.instead.set(WELL_KNOWN, (_request, response) => void response.end(JSON.stringify({ issuer })));
  const entra = 'https://login.microsoftonline.com/{tenantid}/v2.0';
  for (const issuer of ['https://other.example', `${idp.issuer}/tenant`, undefined, 7, entra]) {
    document(issuer);
    await assert.rejects(upstream().authorizationUrl(newUpstreamRequest()), failsAs('refused', 'issuer_mismatch'));
  }
  document(entra);
  await assert.rejects(upstream().authorizationUrl(newUpstreamRequest()), /write that of one tenant/);
});

test('the origin of tokens changes with the issuer and the client, and with nothing else', { skip }, () => {
  const same = [{}, { scopes: ['openid'] }, { redirectUri: ELSEWHERE }].map((config) => upstream(config).origin);
  const others = [{ clientId: 'other' }, { issuerUrl: 'https://other.example' }].map((each) => upstream(each).origin);
  assert.equal(new Set(same).size, 1);
  assert.equal(new Set([...same, ...others]).size, 3);
});
