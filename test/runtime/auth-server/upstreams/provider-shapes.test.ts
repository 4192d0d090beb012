import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Upstream, UpstreamLogin } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { signed, type SigningKey, signingKey } from '../../../fixtures/identity-provider.ts';
import {
  type Answer,
  json,
  type OAuth2Server,
  type Received,
  sentBack,
  startOAuth2Server,
  text,
} from '../../../fixtures/oauth2-server.ts';
import { failsAs, newUpstreamRequest, upstreamClient, upstreamOf } from '../../../fixtures/upstreams.ts';

/**
 * Servers that answer as the documents of providers say, with the configuration that docs/upstream-providers.md
 * "Recipes" gives for them.
 */
const skip = noCertificates;
const secrets = { '/secrets/client': 's' };
const client = { clientId: '1234.apps', clientSecretFile: '/secrets/client' };

let certificates: TestCertificates;
let server: OAuth2Server;
let http: GuardedClient;
let key: SigningKey;

before(async () => {
  if (skip !== false) return;
  certificates = await testCertificates();
  server = await startOAuth2Server(certificates);
  http = upstreamClient(certificates.caFile);
  key = await signingKey('k', 'RS256');
});

afterEach(() => server?.paths.clear());

after(async () => {
  await http?.close();
  await server?.close();
  await certificates?.remove();
});

const upstream = (written: object): Upstream => upstreamOf(written, http, { secrets });

interface SignedIn extends UpstreamLogin {
  readonly url: URL;
}

/** `prepare`: what the server needs to know of the request. */
const signIn = async (
  of: Upstream,
  prepare: (nonce: string) => Promise<unknown> = async () => {},
): Promise<SignedIn> => {
  const upstreamRequest = newUpstreamRequest();
  const url = await of.authorizationUrl(upstreamRequest);
  await prepare(upstreamRequest.nonce);
  return { ...(await of.redeem(sentBack(url), upstreamRequest)), url };
};

const seconds = () => Math.floor(Date.now() / 1_000);
const idToken = (issuer: string, nonce: string, claims: object): Promise<string> =>
  signed({ iss: issuer, aud: client.clientId, nonce, iat: seconds(), exp: seconds() + 3_600, ...claims }, key);

/** A document for an issuer below this path. */
const document = (path: string, more: object): string => {
  const issuer = `${server.origin}${path}`;
  const body = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${server.origin}/keys`,
    ...more,
  };
  server.paths.set(`${path}/.well-known/openid-configuration`, json(body));
  server.paths.set('/keys', json({ keys: [key.publicJwk] }));
  return issuer;
};

test(
  'Google: no offline_access, refresh tokens for access_type=offline only, kept over refreshes, revoked',
  { skip },
  async () => {
    const issuerUrl = document('', {
      userinfo_endpoint: undefined,
      revocation_endpoint: `${server.origin}/revoke`,
      scopes_supported: ['openid', 'email', 'profile'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    });
    const of = upstream({
      type: 'oidc',
      oidcConfig: {
        issuerUrl,
        ...client,
        scopes: ['openid', 'email', 'profile'],
        additionalAuthorizationParams: { access_type: 'offline', prompt: 'consent' },
      },
    });
    const standard = { access_token: 'ya29.a', expires_in: 3599, scope: 'openid email', token_type: 'Bearer' };
    const user = { sub: '1150', email: 'alice@example.org', email_verified: true, name: 'Alice', hd: 'example.org' };
    const { identity, tokens, url } = await signIn(of, async (nonce) =>
      server.paths.set(
        '/token',
        json({ ...standard, refresh_token: '1//r', id_token: await idToken(issuerUrl, nonce, user) }),
      ),
    );
    assert.equal(url.searchParams.get('access_type'), 'offline');
    assert.equal(url.searchParams.get('scope'), 'openid email profile');
    assert.deepEqual(identity, { subject: '1150', name: 'Alice', email: 'alice@example.org', emailVerified: true });
    server.paths.set('/token', json({ ...standard, access_token: 'ya29.b' }));
    const refreshed = await of.refresh('1//r', tokens);
    assert.deepEqual([refreshed.accessToken, refreshed.refreshToken], ['ya29.b', '1//r']);
    server.paths.set('/token', json({ error: 'invalid_grant', error_description: 'Token has been revoked.' }, 400));
    await assert.rejects(of.refresh('1//r'), failsAs('refused', 'invalid_grant'));
    server.paths.set('/revoke', json({}));
    await of.revoke(tokens);
    assert.deepEqual(
      server.receivedAt('/revoke').map(({ form }) => form['token']),
      ['1//r', 'ya29.a'],
    );
  },
);

test(
  'Entra: one tenant, an access token that only Graph can verify, a userinfo endpoint that refuses it',
  { skip },
  async () => {
    const issuerUrl = document('/tenant/v2.0', {
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
      userinfo_endpoint: `${server.origin}/graph/oidc/userinfo`,
    });
    server.paths.set('/graph/oidc/userinfo', json({ error: { code: 'InvalidAuthenticationToken' } }, 401));
    const scopes = ['openid', 'profile', 'email', 'offline_access', 'api://mcp/.default'];
    const of = upstream({ type: 'oidc', oidcConfig: { issuerUrl, ...client, scopes } });
    const graph = await signed(
      { iss: 'https://sts.windows.net/t/', aud: '00000003' },
      await signingKey('other', 'RS256'),
    );
    const user = { sub: 'pairwise', oid: 'o', tid: 't', name: 'Alice', preferred_username: 'a@x', groups: ['g-1'] };
    const answer = { token_type: 'Bearer', scope: 'x', expires_in: 4_000, ext_expires_in: 4_000, access_token: graph };
    const { identity, tokens, url } = await signIn(of, async (nonce) =>
      server.paths.set(
        '/tenant/v2.0/token',
        json({ ...answer, refresh_token: '0.A', id_token: await idToken(issuerUrl, nonce, user) }),
      ),
    );
    assert.equal(url.searchParams.has('resource'), false);
    assert.deepEqual(identity, { subject: 'pairwise', name: 'Alice' });
    assert.deepEqual((await of.claimsOf(tokens))?.['groups'], ['g-1']);
    const expired = { error: 'invalid_grant', error_codes: [700_082], suberror: 'bad_token', trace_id: 'x' };
    server.paths.set('/tenant/v2.0/token', json(expired, 400));
    await assert.rejects(of.refresh('0.A', tokens), failsAs('refused', 'invalid_grant'));
    server.paths.set('/tenant/v2.0/token', json({ error: 'interaction_required' }, 400));
    await assert.rejects(of.refresh('0.A', tokens), failsAs('refused', 'interaction_required'));
  },
);

test(
  'Okta: an issuer with a path, a client that is bound to one way of authenticating, refresh tokens that rotate',
  { skip },
  async () => {
    const issuerUrl = document('/oauth2/default', {
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    });
    server.paths.set('/oauth2/default/userinfo', json({ sub: '00u1', name: 'Alice', email: 'a@x' }));
    const of = upstream({
      type: 'oidc',
      oidcConfig: { issuerUrl, ...client, scopes: ['openid', 'profile', 'email', 'offline_access'] },
    });
    let serial = 0;
    const answering =
      (more: object): Answer =>
      (response, received) => {
        if (received.form['client_secret'] !== 's')
          return json({ errorCode: 'invalid_client', error: 'invalid_client' }, 401)(response, received);
        serial += 1;
        const tokens = { access_token: `at-${serial}`, refresh_token: `rt-${serial}`, expires_in: 3_600 };
        return json({ token_type: 'Bearer', scope: 'openid', ...tokens, ...more })(response, received);
      };
    const { identity, tokens } = await signIn(of, async (nonce) =>
      server.paths.set(
        '/oauth2/default/token',
        answering({ id_token: await idToken(issuerUrl, nonce, { sub: '00u1' }) }),
      ),
    );
    assert.deepEqual(identity, { subject: '00u1', name: 'Alice', email: 'a@x' });
    server.paths.set('/oauth2/default/token', answering({}));
    assert.equal((await of.refresh(tokens.refreshToken ?? '', tokens)).refreshToken, 'rt-2');
  },
);

/** GitHub's token endpoint speaks forms to clients that do not ask for JSON, and 200 to what it refuses. */
const github =
  (answer: Readonly<Record<string, string | number>>): Answer =>
  (response, received) => {
    if (received.headers.accept === 'application/json') return json(answer)(response, received);
    const form = new URLSearchParams(
      Object.entries(answer).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return text(form.toString(), 200, 'application/x-www-form-urlencoded; charset=utf-8')(response, received);
  };

const GITHUB_USER = { login: 'octocat', id: 583_231, name: null, email: null };
const withAgent =
  (answer: Answer): Answer =>
  (response, received: Received) =>
    (received.headers['user-agent'] === undefined ? text('Request forbidden', 403) : answer)(response, received);

const githubUpstream = (): Upstream =>
  upstream({
    type: 'oauth2',
    oauth2Config: {
      authorizationEndpoint: `${server.origin}/login/oauth/authorize`,
      tokenEndpoint: `${server.origin}/login/oauth/access_token`,
      ...client,
      scopes: ['repo', 'read:user'],
      userInfo: {
        endpointUrl: `${server.origin}/user`,
        additionalHeaders: { Accept: 'application/vnd.github+json' },
        fieldMapping: { subjectFields: ['id'], nameFields: ['name', 'login'] },
      },
    },
  });

test('GitHub: tokens without an end, users by number, refusals with HTTP 200', { skip }, async () => {
  const of = githubUpstream();
  server.paths
    .set('/login/oauth/access_token', github({ access_token: 'gho_1', scope: 'repo,read:user', token_type: 'bearer' }))
    .set('/user', withAgent(json(GITHUB_USER)));
  const { identity, tokens } = await signIn(of);
  assert.deepEqual(identity, { subject: '583231', name: 'octocat' });
  assert.deepEqual(tokens, { accessToken: 'gho_1', scope: 'repo,read:user' });
  server.paths.set('/login/oauth/access_token', github({ error: 'bad_verification_code', error_uri: 'https://x' }));
  await assert.rejects(signIn(of), failsAs('refused', 'invalid_grant'));
  server.paths.set('/login/oauth/access_token', github({ error: 'bad_refresh_token' }));
  await assert.rejects(of.refresh('ghr_1'), failsAs('refused', 'invalid_grant'));
  server.paths.set('/login/oauth/access_token', github({ error: 'incorrect_client_credentials' }));
  await assert.rejects(of.refresh('ghr_1'), failsAs('refused', 'invalid_client'));
});

test('GitHub Apps: answers in a form are read as well, numbers included', { skip }, async () => {
  const answer = { access_token: 'ghu_1', expires_in: 28_800, refresh_token: 'ghr_2', scope: '', token_type: 'bearer' };
  const form = new URLSearchParams(
    Object.entries(answer).map(([name, value]): [string, string] => [name, String(value)]),
  );
  server.paths
    .set('/login/oauth/access_token', text(form.toString(), 200, 'application/x-www-form-urlencoded; charset=utf-8'))
    .set('/user', withAgent(json(GITHUB_USER)));
  const { tokens } = await signIn(githubUpstream());
  assert.deepEqual([tokens.accessToken, tokens.refreshToken, tokens.scope], ['ghu_1', 'ghr_2', undefined]);
  assert.ok(Math.abs((tokens.expiresAt ?? 0) - Date.now() - 28_800_000) < 60_000);
});

test('Slack: the user token is nested beside that of the bot, and on top after a refresh', { skip }, async () => {
  const of = upstream({
    type: 'oauth2',
    oauth2Config: {
      authorizationEndpoint: `${server.origin}/oauth/v2/authorize`,
      tokenEndpoint: `${server.origin}/api/oauth.v2.access`,
      ...client,
      additionalAuthorizationParams: { user_scope: 'search:read,chat:write' },
      identityFromToken: { subjectPath: 'authed_user.id' },
      tokenResponseMapping: {
        accessTokenPath: 'authed_user.access_token',
        refreshTokenPath: 'authed_user.refresh_token',
        scopePath: 'authed_user.scope',
        expiresInPath: 'authed_user.expires_in',
      },
    },
  });
  const nested = { scope: 'search:read', access_token: 'xoxe.xoxp-1', refresh_token: 'xoxe-1', expires_in: 43_200 };
  const bot = { access_token: 'xoxb-bot', token_type: 'bot', refresh_token: 'xoxe-bot', scope: 'commands' };
  const authedUser = { id: 'U1', token_type: 'user', ...nested };
  server.paths.set('/api/oauth.v2.access', json({ ok: true, ...bot, authed_user: authedUser, team: { id: 'T1' } }));
  const { identity, tokens, url } = await signIn(of);
  assert.equal(url.searchParams.get('user_scope'), 'search:read,chat:write');
  assert.deepEqual(identity, { subject: 'U1' });
  const { expiresAt, ...rest } = tokens;
  assert.deepEqual(rest, { accessToken: 'xoxe.xoxp-1', refreshToken: 'xoxe-1', scope: 'search:read' });
  assert.ok(Math.abs((expiresAt ?? 0) - Date.now() - 43_200_000) < 60_000);
  const again = { access_token: 'xoxe.xoxp-2', refresh_token: 'xoxe-2', expires_in: 43_200, token_type: 'user' };
  server.paths.set('/api/oauth.v2.access', json({ ok: true, ...again }));
  const refreshed = await of.refresh('xoxe-1', tokens);
  assert.deepEqual([refreshed.accessToken, refreshed.refreshToken], ['xoxe.xoxp-2', 'xoxe-2']);
  server.paths.set('/api/oauth.v2.access', json({ ok: false, error: 'invalid_refresh_token' }));
  await assert.rejects(of.refresh('xoxe-2'), failsAs('refused', 'invalid_grant'));
  server.paths.set('/api/oauth.v2.access', json({ ok: false, error: 'ratelimited' }, 429));
  await assert.rejects(of.refresh('xoxe-2'), failsAs('unavailable', 'http_429'));
});

test('Atlassian: an audience, users by account_id, refusals with HTTP 403', { skip }, async () => {
  const of = upstream({
    type: 'oauth2',
    oauth2Config: {
      authorizationEndpoint: `${server.origin}/authorize`,
      tokenEndpoint: `${server.origin}/oauth/token`,
      ...client,
      scopes: ['read:me', 'read:jira-work', 'offline_access'],
      additionalAuthorizationParams: { audience: 'api.atlassian.com', prompt: 'consent' },
      userInfo: { endpointUrl: `${server.origin}/me`, fieldMapping: { subjectFields: ['account_id'] } },
    },
  });
  const answer = {
    access_token: 'eyJ',
    refresh_token: 'rt-1',
    expires_in: 3_600,
    scope: 'read:me',
    token_type: 'Bearer',
  };
  server.paths
    .set('/oauth/token', json(answer))
    .set('/me', json({ account_type: 'atlassian', account_id: '5b10', email: 'a@x', name: 'Alice', picture: 'x' }));
  const { identity, tokens, url } = await signIn(of);
  assert.equal(url.searchParams.get('audience'), 'api.atlassian.com');
  assert.deepEqual(identity, { subject: '5b10', name: 'Alice', email: 'a@x' });
  server.paths.set('/oauth/token', json({ ...answer, refresh_token: 'rt-2' }));
  assert.equal((await of.refresh('rt-1', tokens)).refreshToken, 'rt-2');
  const unknown = { error: 'invalid_grant', error_description: 'Unknown or invalid refresh token.' };
  server.paths.set('/oauth/token', json(unknown, 403));
  await assert.rejects(of.refresh('rt-1'), failsAs('refused', 'invalid_grant'));
});

test('a provider that takes the secret in the form only revokes tokens by it as well', { skip }, async () => {
  const issuerUrl = document('', { revocation_endpoint: `${server.origin}/revoke` });
  server.paths.set('/revoke', (response, received) =>
    json({}, received.form['client_secret'] === 's' ? 200 : 401)(response, received),
  );
  const before = server.receivedAt('/revoke').length;
  await upstream({ type: 'oidc', oidcConfig: { issuerUrl, ...client } }).revoke({
    accessToken: 'at',
    refreshToken: 'rt',
  });
  assert.deepEqual(
    server
      .receivedAt('/revoke')
      .slice(before)
      .map(({ form }) => [form['token'], form['client_secret']]),
    [
      ['rt', undefined],
      ['rt', 's'],
      ['at', 's'],
    ],
  );
});
