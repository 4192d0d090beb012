import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { inspect } from 'node:util';
import { type Upstream, UpstreamError } from '../../../../runtime/auth-server/upstreams/index.ts';
import { fetchPolicies, type GuardedClient, guardedFetch } from '../../../../runtime/http/index.ts';
import { systemClock } from '../../../../runtime/process/index.ts';
import {
  type Answer,
  json,
  type OAuth2Server,
  sentBack,
  startOAuth2Server,
  text,
} from '../../../fixtures/oauth2-server.ts';
import {
  failsAs,
  newUpstreamRequest,
  providerConfig,
  upstreamClient,
  upstreamOf,
} from '../../../fixtures/upstreams.ts';

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

const SECRETS = ['the-client-secret', 'the-code', 'the-refresh-token', 'the-access-token'];

const upstream = (config: object = {}, client = http): Upstream =>
  upstreamOf(
    {
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: `${server.origin}/authorize`,
        tokenEndpoint: `${server.origin}/token`,
        clientId: 'vmcp',
        clientSecretFile: '/secrets/client',
        ...config,
      },
    },
    client,
    { secrets: { '/secrets/client': 'the-client-secret' } },
  );

const signIn = async (of: Upstream): Promise<unknown> => {
  const upstreamRequest = newUpstreamRequest();
  return of.redeem(sentBack(await of.authorizationUrl(upstreamRequest)), upstreamRequest);
};

const refresh = (of: Upstream): Promise<unknown> => of.refresh('the-refresh-token');

const words: readonly (readonly [string, UpstreamError['kind'], string])[] = [
  ['invalid_grant', 'refused', 'invalid_grant'],
  ['invalid_client', 'refused', 'invalid_client'],
  ['unauthorized_client', 'refused', 'unauthorized_client'],
  ['invalid_scope', 'refused', 'invalid_scope'],
  ['access_denied', 'refused', 'access_denied'],
  ['interaction_required', 'refused', 'interaction_required'],
  // Words of GitHub and Slack.
  ['bad_refresh_token', 'refused', 'invalid_grant'],
  ['invalid_refresh_token', 'refused', 'invalid_grant'],
  ['bad_verification_code', 'refused', 'invalid_grant'],
  ['incorrect_client_credentials', 'refused', 'invalid_client'],
  // A word that nobody knows is not repeated.
  ['the-refresh-token is wrong', 'refused', 'refused'],
  ['constructor', 'refused', 'refused'],
  ['temporarily_unavailable', 'unavailable', 'temporarily_unavailable'],
  ['server_error', 'unavailable', 'temporarily_unavailable'],
  ['ratelimited', 'unavailable', 'temporarily_unavailable'],
];
for (const [word, kind, code] of words)
  for (const status of [200, 400, 401, 403])
    test(`error ${word} with HTTP ${status} is ${kind} as ${code}`, async () => {
      server.paths.set('/token', json({ error: word, error_description: `${SECRETS.join(' ')} x` }, status));
      await assert.rejects(refresh(upstream()), failsAs(kind, code));
      await assert.rejects(signIn(upstream()), failsAs(kind, code));
    });

const HUGE = 'x'.repeat(2 * 1024 * 1024);
const silence: Answer = (response) => response.flushHeaders();
const garbage: readonly (readonly [string, Answer, string])[] = [
  ['HTTP 500', json({ error: 'invalid_grant' }, 500), 'http_500'],
  ['HTTP 502 of a proxy', text('<html>', 502), 'http_502'],
  ['HTTP 503', json({}, 503), 'http_503'],
  ['HTTP 429', json({ error: 'invalid_grant' }, 429), 'http_429'],
  ['HTTP 408', text('', 408), 'http_408'],
  ['HTTP 403 of a proxy', text('<html>the-refresh-token', 403), 'http_403'],
  ['HTTP 401 without a word', json({}, 401), 'http_401'],
  ['HTTP 404', json({ message: 'Not Found' }, 404), 'http_404'],
  ['HTTP 200 that is no JSON', text('<html>the-access-token'), 'not_json'],
  ['HTTP 200 that is no object', json(['the-access-token']), 'not_json'],
  ['half an answer', text('{"access_token":"the-access', 200, 'application/json'), 'not_json'],
  ['HTTP 200 without a token', json({ ok: true }), 'invalid_response'],
  ['an error that is no text', json({ error: { code: 'the-code' } }, 200), 'invalid_response'],
  ['a redirect', (response) => void response.writeHead(302, { location: '/other' }).end(), 'redirected'],
  ['an answer without end', text(HUGE, 200, 'application/json'), 'body_too_large'],
  ['a broken connection', (response) => void response.socket?.destroy(), 'network_error'],
];
for (const [what, answer, code] of garbage)
  test(`${what} is unavailable as ${code}`, async () => {
    server.paths.set('/token', answer);
    await assert.rejects(refresh(upstream()), failsAs('unavailable', code));
    await assert.rejects(signIn(upstream()), failsAs('unavailable', code));
  });

test('silence is unavailable once the time is over', async () => {
  server.paths.set('/token', silence);
  const impatient = guardedFetch({ ...fetchPolicies.token, timeoutMs: 100 }, { clock: systemClock });
  await assert.rejects(refresh(upstream({}, impatient)), failsAs('unavailable', 'timeout'));
  await impatient.close();
});

test('a provider that is not there, or not to be fetched from, is unavailable', async () => {
  const tokenEndpoint = 'http://127.0.0.1:1/token';
  await assert.rejects(refresh(upstream({ tokenEndpoint })), failsAs('unavailable', 'network_error'));
  const metadataService = 'http://169.254.169.254/token';
  await assert.rejects(
    refresh(upstream({ tokenEndpoint: metadataService })),
    failsAs('unavailable', 'address_refused'),
  );
  const plain = 'http://192.0.2.1/token';
  await assert.rejects(refresh(upstream({ tokenEndpoint: plain })), failsAs('unavailable', 'https_required'));
});

const said: readonly (readonly [string, UpstreamError['kind'], string])[] = [
  ['access_denied', 'refused', 'access_denied'],
  ['login_required', 'refused', 'login_required'],
  ['temporarily_unavailable', 'unavailable', 'temporarily_unavailable'],
  ['server_error', 'unavailable', 'temporarily_unavailable'],
  ['<script>', 'refused', 'refused'],
];
for (const [word, kind, code] of said)
  test(`a redirect back with the error ${word} is ${kind} as ${code}, and nothing is sent`, async () => {
    const of = upstream();
    const upstreamRequest = newUpstreamRequest();
    await of.authorizationUrl(upstreamRequest);
    const before = server.received.length;
    await assert.rejects(
      of.redeem(new URLSearchParams({ error: word, state: upstreamRequest.state }), upstreamRequest),
      failsAs(kind, code),
    );
    assert.equal(server.received.length, before);
  });

test('userinfo endpoints that are away, silent or broken are unavailable', async () => {
  server.paths.set('/token', json({ access_token: 'the-access-token', token_type: 'bearer' }));
  const userInfo = { endpointUrl: `${server.origin}/me` };
  for (const [, answer, code] of garbage.filter(
    ([, , each]) => !['http_401', 'http_403', 'invalid_response'].includes(each),
  )) {
    server.paths.set('/me', answer);
    await assert.rejects(signIn(upstream({ userInfo })), failsAs('unavailable', code));
  }
});

test('no error holds a secret, a code or a token', async () => {
  const answers: readonly Answer[] = [
    json({ error: 'invalid_grant', error_description: SECRETS.join(' ') }, 400),
    json({ error: SECRETS.join(' ') }, 400),
    json({ access_token: 'the-access-token', token_type: 'DPoP' }),
    json({ access_token: 'the-access-token\n' }),
    ...garbage.map(([, answer]) => answer),
  ];
  for (const answer of answers) {
    server.paths.set('/token', answer);
    for (const work of [refresh, signIn]) {
      const error = await work(upstream()).then(
        () => assert.fail(),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof UpstreamError);
      const shown = inspect(error, { depth: 9, showHidden: true });
      for (const secret of SECRETS) assert.ok(!shown.includes(secret), shown);
    }
  }
});

const MANAGED = 'response_type client_id redirect_uri scope state code_challenge code_challenge_method nonce'.split(
  ' ',
);
for (const name of MANAGED)
  test(`the parameter ${name} cannot be configured`, () => {
    const additionalAuthorizationParams = { [name]: 'x' };
    const endpoints = { authorizationEndpoint: 'https://idp.example/a', tokenEndpoint: 'https://idp.example/t' };
    const oauth2Config = { ...endpoints, clientId: 'vmcp', additionalAuthorizationParams };
    assert.throws(() => providerConfig({ type: 'oauth2', oauth2Config }));
    const oidcConfig = { issuerUrl: 'https://idp.example', clientId: 'vmcp', additionalAuthorizationParams };
    assert.throws(() => providerConfig({ type: 'oidc', oidcConfig }));
  });
