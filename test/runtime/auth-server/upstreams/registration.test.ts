import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Registrations, Upstream } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import {
  basicClient,
  inTurn,
  json,
  type OAuth2Server,
  sentBack,
  startOAuth2Server,
  text,
} from '../../../fixtures/oauth2-server.ts';
import {
  CALLBACK,
  failsAs,
  newUpstreamRequest,
  registrationsInMemory,
  upstreamClient,
  upstreamOf,
} from '../../../fixtures/upstreams.ts';
import { covers } from '../../../requirements.ts';

const skip = noCertificates;
const TOKENS = { access_token: 'at-1', token_type: 'Bearer' };
const METADATA = '/deep/metadata.json';

let certificates: TestCertificates;
let server: OAuth2Server;
let http: GuardedClient;
let clock: FrozenClock;

before(async () => {
  if (skip !== false) return;
  certificates = await testCertificates();
  server = await startOAuth2Server(certificates);
  http = upstreamClient(certificates.caFile);
  clock = frozenClock();
});

afterEach(() => server?.paths.clear());

after(async () => {
  await http?.close();
  await server?.close();
  await certificates?.remove();
});

/** A provider that registers clients `client-1`, `client-2` … */
const serve = (document: object = {}, registered: object = {}): void => {
  let serial = 0;
  server.paths
    .set(
      METADATA,
      json({
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/authorize`,
        token_endpoint: `${server.origin}/token`,
        registration_endpoint: `${server.origin}/register`,
        ...document,
      }),
    )
    .set('/register', (response, received) => {
      serial += 1;
      const client = { client_id: `client-${serial}`, client_secret: `secret-${serial}`, client_secret_expires_at: 0 };
      json({ ...client, ...registered }, 201)(response, received);
    })
    .set('/token', json(TOKENS));
};

const discovered = (more: object = {}) => ({ dcrConfig: { discoveryUrl: `${server.origin}${METADATA}`, ...more } });

const upstream = (
  config: object,
  { registrations = registrationsInMemory(), secrets = {} }: { registrations?: Registrations; secrets?: object } = {},
): Upstream =>
  upstreamOf({ type: 'oauth2', oauth2Config: config }, http, { registrations, secrets: { ...secrets }, clock });

const signIn = async (of: Upstream): Promise<URL> => {
  const upstreamRequest = newUpstreamRequest();
  const url = await of.authorizationUrl(upstreamRequest);
  await of.redeem(sentBack(url), upstreamRequest);
  return url;
};

const last = (path: string) => server.receivedAt(path).at(-1) ?? assert.fail(`nothing was asked at ${path}`);
const registeredAs = (): Record<string, unknown> => JSON.parse(last('/register').body) as Record<string, unknown>;
const counted = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  const before = server.received.length;
  await work();
  return server.received.slice(before).map(({ method, path }) => `${method} ${path}`);
};

covers(
  'authserver.upstream.dcr.discovery-one-get',
  'authserver.upstream.dcr.discovery-registration-endpoint',
  'authserver.upstream.dcr.discovery-authorization-endpoint',
  'authserver.upstream.dcr.discovery-token-endpoint',
  'authserver.upstream.dcr.no-initial-access-token',
  'authserver.upstream.dcr.client-used',
);
test('discovery is one GET; the client that it registers is used for all that follows', { skip }, async () => {
  serve();
  const of = upstream(discovered());
  const paths = await counted(() => signIn(of));
  assert.deepEqual(paths, [`GET ${METADATA}`, 'POST /register', 'POST /token']);
  assert.equal(last('/register').headers.authorization, undefined);
  assert.deepEqual(basicClient(last('/token').headers.authorization), { id: 'client-1', secret: 'secret-1' });
  const url = await of.authorizationUrl(newUpstreamRequest());
  assert.equal(`${url.origin}${url.pathname}`, `${server.origin}/authorize`);
  assert.equal(url.searchParams.get('client_id'), 'client-1');
  assert.deepEqual(await counted(() => signIn(of)), ['POST /token']);
});

test('what is registered: redirect URI, grants, and the name of the software', { skip }, async () => {
  serve();
  await signIn(upstream(discovered()));
  assert.deepEqual(registeredAs(), {
    client_name: 'vmcp',
    redirect_uris: [CALLBACK],
    application_type: 'web',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
  });
});

test('a server that is reached over plain HTTP, as on a laptop, registers a native client', { skip }, async () => {
  serve();
  const redirectUri = 'http://127.0.0.1:4483/mcp/oauth/callback';
  await signIn(upstream({ ...discovered(), redirectUri }));
  assert.equal(registeredAs()['application_type'], 'native');
});

test('endpoints that are written win over discovered ones', { skip }, async () => {
  serve();
  server.paths.set('/elsewhere', json(TOKENS));
  const written = {
    authorizationEndpoint: 'https://login.example/authorize',
    tokenEndpoint: `${server.origin}/elsewhere`,
  };
  const url = await signIn(upstream({ ...discovered(), ...written }));
  assert.equal(url.origin, 'https://login.example');
  assert.equal(server.received.at(-1)?.path, '/elsewhere');
});

covers('authserver.upstream.dcr.discovery-no-fallback');
test('when discoveryUrl fails nothing else is tried', { skip }, async () => {
  serve();
  const failures = [
    [json({}, 404), 'http_404'],
    [json({}, 503), 'http_503'],
    [text('<html>'), 'not_json'],
    [text('', 302), 'redirected'],
  ] as const;
  for (const [answer, code] of failures) {
    server.paths.set(METADATA, answer);
    const of = upstream(discovered());
    const paths = await counted(() =>
      assert.rejects(of.authorizationUrl(newUpstreamRequest()), failsAs('unavailable', code)),
    );
    assert.deepEqual(paths, [`GET ${METADATA}`]);
  }
});

covers('authserver.upstream.dcr.discovery-auth-methods');
test('the registered method is one that the document lists, and the one that is used', { skip }, async () => {
  serve({ token_endpoint_auth_methods_supported: ['private_key_jwt', 'client_secret_post', 'none'] });
  await signIn(upstream(discovered()));
  assert.equal(registeredAs()['token_endpoint_auth_method'], 'client_secret_post');
  assert.equal(last('/token').form['client_secret'], 'secret-1');
  serve({ token_endpoint_auth_methods_supported: ['none'] }, { client_secret: undefined });
  await signIn(upstream(discovered()));
  assert.equal(registeredAs()['token_endpoint_auth_method'], 'none');
  assert.equal(last('/token').form['client_id'], 'client-1');
  assert.equal(last('/token').headers.authorization, undefined);
  serve({ token_endpoint_auth_methods_supported: ['private_key_jwt'] });
  await assert.rejects(signIn(upstream(discovered())), failsAs('refused', 'unsupported_client_authentication'));
});

test('where the provider registers another method than was asked for, that one is used', { skip }, async () => {
  serve({}, { token_endpoint_auth_method: 'client_secret_post' });
  await signIn(upstream(discovered()));
  assert.equal(last('/token').form['client_secret'], 'secret-1');
  assert.equal(last('/token').headers.authorization, undefined);
});

covers('authserver.upstream.dcr.discovery-scopes');
test('without scopes of its own it registers and asks for those of the document', { skip }, async () => {
  serve({ scopes_supported: ['read', 'write'] });
  const url = await signIn(upstream(discovered()));
  assert.equal(registeredAs()['scope'], 'read write');
  assert.equal(url.searchParams.get('scope'), 'read write');
  const narrow = await signIn(upstream({ ...discovered(), scopes: ['read'] }));
  assert.equal(registeredAs()['scope'], 'read');
  assert.equal(narrow.searchParams.get('scope'), 'read');
});

covers('authserver.upstream.dcr.registration-bypasses-discovery');
test('with registrationEndpoint nothing is discovered', { skip }, async () => {
  serve();
  const config = {
    authorizationEndpoint: `${server.origin}/authorize`,
    tokenEndpoint: `${server.origin}/token`,
    scopes: ['read'],
    dcrConfig: { registrationEndpoint: `${server.origin}/register` },
  };
  assert.deepEqual(await counted(() => signIn(upstream(config))), ['POST /register', 'POST /token']);
});

covers(
  'authserver.upstream.dcr.initial-access-token',
  'authserver.upstream.dcr.software-id-sent',
  'authserver.upstream.dcr.software-statement-sent',
);
test('registration carries the initial access token, software id and statement', { skip }, async () => {
  serve();
  const more = { initialAccessTokenFile: '/secrets/initial', softwareId: 'soft-1', softwareStatement: 'a.b.c' };
  await signIn(upstream(discovered(more), { secrets: { '/secrets/initial': 'initial-token' } }));
  assert.equal(last('/register').headers.authorization, 'Bearer initial-token');
  const { software_id: id, software_statement: statement } = registeredAs();
  assert.deepEqual({ id, statement }, { id: 'soft-1', statement: 'a.b.c' });
  const without = upstream(discovered(more));
  const paths = await counted(() =>
    assert.rejects(signIn(without), failsAs('unavailable', 'initial_access_token_missing')),
  );
  assert.deepEqual(paths, [`GET ${METADATA}`]);
});

test('replicas and restarts share one client; those that register at once agree on it', { skip }, async () => {
  serve();
  const registrations = registrationsInMemory();
  const replicas = Array.from({ length: 5 }, () => upstream(discovered(), { registrations }));
  const ids = await Promise.all(
    replicas.flatMap((of) => Array.from({ length: 4 }, () => of.authorizationUrl(newUpstreamRequest()))),
  );
  assert.equal(new Set(ids.map((url) => url.searchParams.get('client_id'))).size, 1);
  const restarted = upstream(discovered(), { registrations });
  assert.deepEqual(await counted(() => restarted.authorizationUrl(newUpstreamRequest())), [`GET ${METADATA}`]);
});

test('another redirect URI or scope is another client', { skip }, async () => {
  serve();
  const registrations = registrationsInMemory();
  for (const config of [{}, { redirectUri: 'https://other.example/back' }, { scopes: ['read'] }])
    await upstream({ ...discovered(), ...config }, { registrations }).authorizationUrl(newUpstreamRequest());
  assert.equal(registrations.kept.size, 3);
});

test('a client whose secret ends is registered anew', { skip }, async () => {
  serve({}, { client_secret_expires_at: Math.floor(clock.now() / 1_000) + 3_600 });
  const registrations = registrationsInMemory();
  const of = upstream(discovered(), { registrations });
  const idAt = async () => (await of.authorizationUrl(newUpstreamRequest())).searchParams.get('client_id');
  assert.equal(await idAt(), 'client-1');
  clock.advance(3_500_000);
  assert.equal(await idAt(), 'client-1');
  serve({}, { client_id: 'anew' });
  clock.advance(60_000);
  assert.equal(await idAt(), 'anew');
  assert.equal([...registrations.kept.values()].map(({ expiresAt }) => expiresAt).at(0), undefined);
});

test('a client is given up once its refusals go on for a minute, not after one', { skip }, async () => {
  serve();
  const of = upstream(discovered());
  await signIn(of);
  const refusal = json({ error: 'invalid_client' }, 401);
  const refuse = () => assert.rejects(of.refresh('rt-1'), failsAs('refused', 'invalid_client'));
  server.paths.set('/token', refusal);
  await refuse();
  clock.advance(30_000);
  server.paths.set('/token', json(TOKENS));
  await of.refresh('rt-1');
  server.paths.set('/token', refusal);
  clock.advance(40_000);
  await refuse();
  const idNow = async () => (await of.authorizationUrl(newUpstreamRequest())).searchParams.get('client_id');
  assert.equal(await idNow(), 'client-1');
  clock.advance(60_000);
  await refuse();
  assert.equal(await idNow(), 'client-2');
});

test('a registration that fails says why, and is not repeated at once', { skip }, async () => {
  serve();
  const failures = [
    [json({ error: 'invalid_redirect_uri' }, 400), 'refused', 'invalid_redirect_uri'],
    [json({ error: 'invalid_token' }, 401), 'refused', 'invalid_token'],
    [json({}, 403), 'unavailable', 'http_403'],
    [json({}, 500), 'unavailable', 'http_500'],
    [json({ client_name: 'vmcp' }, 201), 'unavailable', 'invalid_response'],
    [
      json({ client_id: 'c', token_endpoint_auth_method: 'private_key_jwt' }, 201),
      'refused',
      'unsupported_client_authentication',
    ],
    [
      json({ client_id: 'c', token_endpoint_auth_method: 'client_secret_basic' }, 201),
      'unavailable',
      'invalid_response',
    ],
  ] as const;
  for (const [answer, kind, code] of failures) {
    server.paths.set('/register', answer);
    const of = upstream(discovered());
    const fail = () => assert.rejects(of.authorizationUrl(newUpstreamRequest()), failsAs(kind, code));
    assert.equal((await counted(fail)).length, 2);
    assert.equal((await counted(fail)).length, 0);
    clock.advance(5_000);
    assert.equal((await counted(fail)).length, 1);
  }
});

test('a store that is away makes the provider unavailable, and registers no second client', { skip }, async () => {
  serve();
  const away = async (): Promise<never> => {
    throw new Error('the store is away');
  };
  const registrations = { get: away, setIfAbsent: away, remove: away };
  const of = upstream(discovered(), { registrations });
  const paths = await counted(() =>
    assert.rejects(of.authorizationUrl(newUpstreamRequest()), failsAs('unavailable', 'store_unavailable')),
  );
  assert.deepEqual(paths, [`GET ${METADATA}`]);
});

test('an issuer that is not on the origin of the document is not believed', { skip }, async () => {
  serve({ issuer: 'https://honest.example', authorization_response_iss_parameter_supported: true });
  const of = upstream(discovered());
  const upstreamRequest = newUpstreamRequest();
  const url = await of.authorizationUrl(upstreamRequest);
  await assert.rejects(
    of.redeem(sentBack(url, { iss: 'https://honest.example' }), upstreamRequest),
    failsAs('refused', 'issuer_mismatch'),
  );
  await assert.rejects(of.redeem(sentBack(url), upstreamRequest), failsAs('refused', 'issuer_mismatch'));
});

test('metadata of wrong shapes is left out', { skip }, async () => {
  serve({ scopes_supported: 'read', token_endpoint_auth_methods_supported: [7], jwks_uri: 7, issuer: {} });
  server.paths.set('/token', inTurn(json(TOKENS)));
  const url = await signIn(upstream(discovered()));
  assert.equal(url.searchParams.has('scope'), false);
  serve({ authorization_endpoint: 'javascript:alert(1)' });
  await assert.rejects(signIn(upstream(discovered())), failsAs('unavailable', 'invalid_response'));
  serve({ registration_endpoint: undefined });
  await assert.rejects(signIn(upstream(discovered())), failsAs('refused', 'no_registration_endpoint'));
});

test(
  'a store that was emptied gets the client back, and another replica hears of a newer client',
  { skip },
  async () => {
    serve();
    const registrations = registrationsInMemory();
    const of = upstream(discovered(), { registrations });
    await of.authorizationUrl(newUpstreamRequest());
    const [key = ''] = registrations.kept.keys();
    registrations.kept.clear();
    clock.advance(3_600_000);
    await of.authorizationUrl(newUpstreamRequest());
    await of.authorizationUrl(newUpstreamRequest());
    assert.equal(registrations.kept.get(key)?.id, 'client-1');
    registrations.kept.set(key, { id: 'newer', method: 'none' });
    clock.advance(3_600_000);
    await of.authorizationUrl(newUpstreamRequest());
    assert.equal((await of.authorizationUrl(newUpstreamRequest())).searchParams.get('client_id'), 'newer');
  },
);
