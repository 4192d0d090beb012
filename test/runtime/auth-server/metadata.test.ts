import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import { startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { JSON_HEADERS } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { covers } from '../../requirements.ts';

const skip = noCertificates;

type Json = Readonly<Record<string, unknown>>;

const documentAt = async (url: string): Promise<Json> => {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, url);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  return (await answer.json()) as Json;
};

/** The metadata by these keys of the file. */
const metadataWith = async (authServer: object, oidc: object = {}): Promise<Json> => {
  const gateway = await startAuthServer({ authServer, oidc });
  try {
    return await documentAt(`${gateway.issuer}/.well-known/oauth-authorization-server`);
  } finally {
    await gateway.stop();
  }
};

suite('metadata of the authorization server', { skip }, () => {
  covers(
    'endpoints.as-metadata',
    'endpoints.as-metadata.registration-endpoint',
    'endpoints.as-metadata.token-and-jwks-served',
    'authserver.authz-base-url.default',
    'authserver.same-process',
    'authserver.acts-as-oidc-issuer',
  );
  test('says where everything is, and everything is there', async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    const { issuer } = gateway;
    const document = await documentAt(`${issuer}/.well-known/oauth-authorization-server`);
    assert.equal(document['issuer'], issuer);
    assert.equal(document['authorization_endpoint'], `${issuer}/oauth/authorize`);
    assert.equal(document['registration_endpoint'], `${issuer}/oauth/register`);
    assert.deepEqual(document['code_challenge_methods_supported'], ['S256']);
    assert.equal(document['authorization_response_iss_parameter_supported'], true);
    assert.equal(document['client_id_metadata_document_supported'], true);
    assert.ok((document['token_endpoint_auth_methods_supported'] as unknown[]).includes('none'));
    const { keys } = (await documentAt(String(document['jwks_uri']))) as { readonly keys: readonly Json[] };
    assert.equal(keys.length, 1);
    assert.ok(keys.every((key) => key['d'] === undefined && key['kid'] !== undefined));
    for (const name of ['token_endpoint', 'revocation_endpoint', 'registration_endpoint'])
      assert.equal((await fetch(String(document[name]), { method: 'POST' })).status >= 400, true, name);
    assert.equal((await fetch(String(document['token_endpoint']), { method: 'POST' })).status, 400);
    assert.deepEqual(await documentAt(`${issuer}/.well-known/openid-configuration`), document);
  });

  test('of an issuer with a path is at every address that clients form of it', async (t) => {
    const gateway = await startAuthServer({ path: '/tenants/one' });
    t.after(gateway.stop);
    const { origin } = new URL(gateway.issuer);
    const documents = await Promise.all(
      [
        '/.well-known/oauth-authorization-server/tenants/one',
        '/.well-known/openid-configuration/tenants/one',
        '/tenants/one/.well-known/openid-configuration',
        '/tenants/one/.well-known/oauth-authorization-server',
        '/.well-known/oauth-authorization-server',
        '/.well-known/openid-configuration',
      ].map((path) => documentAt(`${origin}${path}`)),
    );
    for (const document of documents) assert.deepEqual(document, documents[0]);
    assert.equal(documents[0]?.['issuer'], gateway.issuer);
    assert.equal(documents[0]?.['token_endpoint'], `${gateway.issuer}/oauth/token`);
    await documentAt(String(documents[0]?.['jwks_uri']));
  });

  test('is made of the issuer, whatever Host a request names', async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    const { port } = new URL(gateway.issuer);
    const text = await new Promise<string>((resolve, reject) => {
      const path = '/.well-known/oauth-authorization-server';
      request({ host: '127.0.0.1', port, path, headers: { host: '127.0.0.99' } }, (answer) => {
        answer.toArray().then((chunks) => resolve(Buffer.concat(chunks).toString()), reject);
      })
        .on('error', reject)
        .end();
    });
    assert.equal((JSON.parse(text) as Json)['issuer'], gateway.issuer);
    assert.doesNotMatch(text, /127\.0\.0\.99/);
  });

  covers(
    'authserver.authz-base-url.advertised',
    'authserver.authz-base-url.token-endpoint-unaffected',
    'authserver.authz-base-url.registration-endpoint-unaffected',
    'authserver.authz-base-url.jwks-unaffected',
  );
  test('has another base for browsers, and for nothing else', async () => {
    const base = 'https://login.example.com/mcp';
    const document = await metadataWith({ authorizationEndpointBaseUrl: base });
    assert.equal(document['authorization_endpoint'], `${base}/oauth/authorize`);
    for (const name of ['token_endpoint', 'registration_endpoint', 'jwks_uri', 'revocation_endpoint'])
      assert.ok(String(document[name]).startsWith(`${String(document['issuer'])}/`), name);
  });

  covers('authserver.scopes-supported.default');
  test('lists the default scopes, and those of the identity providers and of the gate', async () => {
    const provider = { name: 'code', type: 'oauth2' };
    const endpoints = { authorizationEndpoint: 'https://code.example/a', tokenEndpoint: 'https://code.example/t' };
    const oauth2Config = { ...endpoints, clientId: 'vmcp', scopes: ['repo'] };
    const plain = await metadataWith({
      upstreamProviders: [{ ...provider, oauth2Config: { ...oauth2Config, scopes: [] } }],
    });
    assert.deepEqual(plain['scopes_supported'], ['openid', 'profile', 'email', 'offline_access']);
    const more = await metadataWith({ upstreamProviders: [{ ...provider, oauth2Config }] }, { scopes: ['mcp'] });
    assert.deepEqual(more['scopes_supported'], ['openid', 'profile', 'email', 'offline_access', 'repo', 'mcp']);
  });

  covers('endpoints.protected-resource.served', 'endpoints.protected-resource.authorization-server');
  test('is named by the metadata of the resource, which lists no offline_access', async (t) => {
    const gateway = await startAuthServer({ oidc: { advertisedScopes: ['openid', 'offline_access'] } });
    t.after(gateway.stop);
    const { origin } = new URL(gateway.issuer);
    const document = await documentAt(`${origin}/.well-known/oauth-protected-resource/mcp`);
    assert.deepEqual(document['authorization_servers'], [gateway.issuer]);
    assert.deepEqual(document['scopes_supported'], ['openid']);
    const refusal = await fetch(gateway.running().url, { method: 'POST', headers: JSON_HEADERS, body: '{}' });
    assert.equal(refusal.status, 401);
    assert.doesNotMatch(refusal.headers.get('www-authenticate') ?? '', /offline_access/);
  });
});

covers('authserver.optional');
test('without it there is nothing of it', async (t) => {
  const running = await startRuntime(configFile({}));
  t.after(running.stop);
  const { origin } = new URL(running.url);
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/jwks.json',
    '/oauth/authorize',
  ])
    assert.equal((await fetch(`${origin}${path}`)).status, 404, path);
  for (const path of ['/oauth/register', '/oauth/token', '/oauth/revoke'])
    assert.equal((await fetch(`${origin}${path}`, { method: 'POST' })).status, 404, path);
});
