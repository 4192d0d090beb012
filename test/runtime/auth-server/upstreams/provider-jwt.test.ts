import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { SignJWT } from 'jose';
import type { Upstream, UpstreamLogin } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { signed, type SigningKey, signingKey } from '../../../fixtures/identity-provider.ts';
import { json, type OAuth2Server, sentBack, startOAuth2Server, text } from '../../../fixtures/oauth2-server.ts';
import { failsAs, newUpstreamRequest, upstreamClient, upstreamOf } from '../../../fixtures/upstreams.ts';

const skip = noCertificates;
const WELL_KNOWN = '/.well-known/openid-configuration';

let certificates: TestCertificates;
let server: OAuth2Server;
let http: GuardedClient;
let key: SigningKey;
let clock: FrozenClock;
let upstream: Upstream;

before(async () => {
  if (skip !== false) return;
  certificates = await testCertificates();
  server = await startOAuth2Server(certificates);
  http = upstreamClient(certificates.caFile);
  key = await signingKey('key-1');
});

beforeEach(() => {
  if (skip !== false) return;
  clock = frozenClock();
  publish(key);
  server.paths.set(
    WELL_KNOWN,
    json({
      issuer: server.origin,
      authorization_endpoint: `${server.origin}/authorize`,
      token_endpoint: `${server.origin}/token`,
      jwks_uri: `${server.origin}/jwks`,
    }),
  );
  upstream = upstreamOf({ type: 'oidc', oidcConfig: { issuerUrl: server.origin, clientId: 'vmcp' } }, http, { clock });
});

afterEach(() => server?.paths.clear());

after(async () => {
  await http?.close();
  await server?.close();
  await certificates?.remove();
});

const publish = (...keys: readonly SigningKey[]): void =>
  void server.paths.set('/jwks', json({ keys: keys.map(({ publicJwk }) => publicJwk) }));

const seconds = (): number => Math.floor(clock.now() / 1_000);

/** Claims of a valid ID token for the request with this nonce. */
const claimsFor = (nonce: string, more: object = {}): object => ({
  iss: server.origin,
  aud: 'vmcp',
  sub: 'alice',
  nonce,
  iat: seconds(),
  exp: seconds() + 300,
  ...more,
});

/** A sign-in whose ID token is this. */
const signInWith = async (idToken: (nonce: string) => Promise<unknown>, more: object = {}): Promise<UpstreamLogin> => {
  const upstreamRequest = newUpstreamRequest();
  const answer = sentBack(await upstream.authorizationUrl(upstreamRequest));
  const response = {
    access_token: 'opaque',
    token_type: 'Bearer',
    id_token: await idToken(upstreamRequest.nonce),
    ...more,
  };
  server.paths.set('/token', json(response));
  return upstream.redeem(answer, upstreamRequest);
};

const signInAs = (claims: object, header: Readonly<Record<string, unknown>> = {}): Promise<UpstreamLogin> =>
  signInWith((nonce) => signed(claimsFor(nonce, claims), key, header));

test(
  'a valid ID token signs in, also for several audiences where this client is the authorized party',
  { skip },
  async () => {
    assert.deepEqual((await signInAs({})).identity, { subject: 'alice' });
    assert.equal((await signInAs({ aud: ['vmcp', 'other'], azp: 'vmcp', name: 'Alice' })).identity.name, 'Alice');
    assert.equal((await signInAs({ aud: ['vmcp'] })).identity.subject, 'alice');
  },
);

const wrong: Readonly<Record<string, object>> = {
  'of another issuer': { iss: 'https://other.example' },
  'of an issuer that only looks alike': { iss: 'HTTPS://127.0.0.1' },
  'without an issuer': { iss: undefined },
  'for another client': { aud: 'other' },
  'for several audiences without an authorized party': { aud: ['vmcp', 'other'] },
  'for several audiences whose authorized party is another': { aud: ['vmcp', 'other'], azp: 'other' },
  'whose authorized party is another': { azp: 'other' },
  'without an audience': { aud: undefined },
  'with another nonce': { nonce: 'another' },
  'without a nonce': { nonce: undefined },
  'that has expired': { iat: 1_700_000_000, exp: 1_700_000_300 },
  'without an end': { exp: undefined },
  'without a time of issue': { iat: undefined },
  'that is not valid yet': { nbf: 4_000_000_000 },
  'without a subject': { sub: undefined },
  'with an empty subject': { sub: '' },
  'whose subject is no text': { sub: 7 },
};
for (const [what, claims] of Object.entries(wrong))
  test(`an ID token ${what} signs nobody in`, { skip }, async () => {
    await assert.rejects(signInAs(claims), failsAs('refused', 'invalid_id_token'));
  });

test('an ID token that is not signed with a key of the provider signs nobody in', { skip }, async () => {
  const foreign = await signingKey('key-1');
  const shared = new TextEncoder().encode(JSON.stringify(key.publicJwk));
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const forgeries: readonly ((nonce: string) => Promise<unknown>)[] = [
    (nonce) => signed(claimsFor(nonce), foreign),
    (nonce) => signed(claimsFor(nonce), foreign, { kid: 'key-2' }),
    (nonce) => signed(claimsFor(nonce), foreign, { jwk: foreign.publicJwk, kid: undefined }),
    (nonce) => new SignJWT({ ...claimsFor(nonce) }).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(shared),
    async (nonce) => `${none}.${Buffer.from(JSON.stringify(claimsFor(nonce))).toString('base64url')}.`,
    async () => 'no token at all',
    async () => 'x'.repeat(100_000),
  ];
  for (const forgery of forgeries) await assert.rejects(signInWith(forgery), failsAs('refused', 'invalid_id_token'));
});

test('a time that is off by less than a minute is forgiven', { skip }, async () => {
  assert.equal((await signInAs({ iat: seconds() - 350, exp: seconds() - 50 })).identity.subject, 'alice');
  await assert.rejects(signInAs({ exp: seconds() - 61 }), failsAs('refused', 'invalid_id_token'));
});

test(
  'a token that is signed with a new key is taken at once; keys that are not known are not fetched again and again',
  { skip },
  async () => {
    await signInAs({});
    const next = await signingKey('key-2');
    publish(next);
    clock.advance(1_000);
    assert.equal((await signInWith((nonce) => signed(claimsFor(nonce), next))).identity.subject, 'alice');
    const count = server.receivedAt('/jwks').length;
    for (let tries = 0; tries < 5; tries += 1)
      await assert.rejects(signInAs({}), failsAs('refused', 'invalid_id_token'));
    assert.equal(server.receivedAt('/jwks').length, count);
  },
);

test('keys are fetched again after ten minutes, and the known ones go on while they cannot be', { skip }, async () => {
  await signInAs({});
  server.paths.set('/jwks', json({}, 503));
  clock.advance(600_000);
  assert.equal((await signInAs({})).identity.subject, 'alice');
  publish(await signingKey('key-9'));
  await assert.rejects(signInAs({}), failsAs('refused', 'invalid_id_token'));
});

test('while there are no keys, nobody is signed in, and the sign-in may be tried again', { skip }, async () => {
  const away = [
    [json({}, 503), 'http_503'],
    [json({}, 404), 'http_404'],
    [text('<html>'), 'not_json'],
    [json({ keys: 'none' }), 'not_json'],
  ] as const;
  for (const [answer, code] of away) {
    server.paths.set('/jwks', answer);
    await assert.rejects(signInAs({}), failsAs('unavailable', code));
  }
  publish(key);
  assert.equal((await signInAs({})).identity.subject, 'alice');
});

test('of keys without an id, the one that verifies is found', { skip }, async () => {
  const keys = await Promise.all([signingKey('a'), signingKey('b'), signingKey('c')]);
  const nameless = keys.map(({ publicJwk: { kid: _kid, ...publicJwk }, ...each }) => ({ ...each, publicJwk }));
  publish(...nameless);
  const [, , third] = keys;
  const signIn = signInWith((nonce) => signed(claimsFor(nonce), third, { kid: undefined }));
  assert.equal((await signIn).identity.subject, 'alice');
});

test(
  'metadata without endpoints, or with ways of authenticating that do not exist here, says so',
  { skip },
  async () => {
    const upstreamRequest = newUpstreamRequest();
    server.paths.set(WELL_KNOWN, json({ issuer: server.origin }));
    await assert.rejects(upstream.authorizationUrl(upstreamRequest), failsAs('unavailable', 'invalid_response'));
    await assert.rejects(
      upstream.redeem(new URLSearchParams({ code: 'c', state: upstreamRequest.state }), upstreamRequest),
      failsAs('unavailable', 'invalid_response'),
    );
    const config = { issuerUrl: server.origin, clientId: 'vmcp', clientSecretFile: '/s' };
    const confidential = upstreamOf({ type: 'oidc', oidcConfig: config }, http, { secrets: { '/s': 's' } });
    server.paths.set(
      WELL_KNOWN,
      json({ issuer: server.origin, token_endpoint_auth_methods_supported: ['private_key_jwt'] }),
    );
    await assert.rejects(confidential.refresh('rt'), failsAs('refused', 'unsupported_client_authentication'));
  },
);

const ACCESS = { iss: 'set below', aud: 'https://api.example', sub: 'alice', groups: ['staff'] };
const accessToken = (claims: object, by = key): Promise<string> =>
  signed({ ...ACCESS, iss: server.origin, exp: seconds() + 300, ...claims }, by);

test('claims for policies are those of an access token that the keys of the provider verify', { skip }, async () => {
  const claims = await upstream.claimsOf({ accessToken: await accessToken({}) });
  assert.deepEqual(claims?.['groups'], ['staff']);
});

test('of an access token that is opaque or of another issuer, the ID token has the claims', { skip }, async () => {
  const { tokens } = await signInAs({ groups: ['eng'] });
  const foreign = await signingKey('key-1');
  const tokensOfOthers = [
    'opaque',
    await accessToken({ iss: 'https://graph.example' }),
    await accessToken({}, foreign),
  ];
  for (const accessToken of tokensOfOthers)
    assert.deepEqual((await upstream.claimsOf({ ...tokens, accessToken }))?.['groups'], ['eng']);
  clock.advance(24 * 3_600_000);
  publish(foreign);
  assert.deepEqual((await upstream.claimsOf(tokens))?.['groups'], ['eng']);
  const others = upstreamOf({ type: 'oidc', oidcConfig: { issuerUrl: server.origin, clientId: 'other' } }, http);
  assert.equal(await others.claimsOf(tokens), undefined);
  assert.equal(await upstream.claimsOf({ accessToken: 'opaque' }), undefined);
  assert.equal(await upstream.claimsOf({ accessToken: 'opaque', idToken: 'a.b.c' }), undefined);
});

test('an access token that has expired has no claims, and those of before are not used instead', { skip }, async () => {
  const { tokens } = await signInAs({ groups: ['eng'] });
  const expired = await accessToken({ exp: seconds() - 120 });
  assert.equal(await upstream.claimsOf({ ...tokens, accessToken: expired }), undefined);
});

test('while the keys cannot be had, claims are neither found nor denied', { skip }, async () => {
  const token = await accessToken({});
  server.paths.set('/jwks', json({}, 503));
  await assert.rejects(upstream.claimsOf({ accessToken: token }), failsAs('unavailable', 'http_503'));
});

test('a refreshed ID token that does not verify is left out, and no token is lost', { skip }, async () => {
  const { tokens } = await signInAs({});
  const answer = (idToken: unknown) =>
    server.paths.set(
      '/token',
      json({ access_token: 'at-2', token_type: 'bearer', refresh_token: 'rt-2', id_token: idToken }),
    );
  answer(await signed(claimsFor('x', { aud: 'other' }), key));
  const refreshed = await upstream.refresh('rt-1', tokens);
  assert.deepEqual(refreshed, { accessToken: 'at-2', refreshToken: 'rt-2', idToken: tokens.idToken });
  answer(await signed(claimsFor('x', { nonce: undefined, groups: ['new'] }), key));
  const { idToken } = await upstream.refresh('rt-1', tokens);
  assert.notEqual(idToken, tokens.idToken);
  answer(await signed(claimsFor('x', { sub: 'mallory' }), key));
  await assert.rejects(upstream.refresh('rt-1', tokens), failsAs('refused', 'subject_mismatch'));
});
