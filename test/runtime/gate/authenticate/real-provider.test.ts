import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type { Running } from '../../../../runtime/start.ts';
import { type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { OPAQUE, type RealProvider, startRealProvider } from '../../../fixtures/oidc-provider.ts';
import { ON_LOOPBACK } from '../../../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

const RESOURCE = 'https://mcp.example';

suite('an identity provider that is not ours', () => {
  let provider: RealProvider;
  let backend: FixtureBackend;
  before(async () => {
    provider = await startRealProvider();
    backend = await startBackend();
  });
  after(() => Promise.all([provider.close(), backend.close()]));

  const started = (audience: string, more: object = {}): Promise<Running> =>
    startRuntime(
      configFile(
        { a: backend.url },
        {
          incomingAuth: {
            type: 'oidc',
            oidc: { issuer: provider.issuer, audience, clientId: provider.gateway.id, ...ON_LOOPBACK, ...more },
          },
        },
      ),
      {},
      { environment: (name) => (name === 'SECRET' ? provider.gateway.secret : undefined) },
    );

  const enter = async ({ url }: Running, token: string) =>
    (await post(url, INITIALIZE, { authorization: `Bearer ${token}` })).status;

  test('its JWTs are taken, with audience and scopes', async () => {
    const running = await started(RESOURCE, { scopes: ['mcp'] });
    assert.equal(await enter(running, await provider.token(RESOURCE)), 200);
    assert.equal(await enter(running, await provider.token(RESOURCE, 'other')), 403);
    assert.equal(await enter(running, await provider.token('https://other.example')), 401);
    await running.stop();
  });

  test('its opaque tokens are checked at the endpoint that it publishes', async () => {
    const running = await started(`${RESOURCE}${OPAQUE}`, { clientSecretEnv: 'SECRET' });
    const token = await provider.token(`${RESOURCE}${OPAQUE}`);
    assert.ok(!token.includes('.'));
    assert.equal(await enter(running, token), 200);
    const revoked = await provider.token(`${RESOURCE}${OPAQUE}`);
    await provider.revoke(revoked);
    assert.equal(await enter(running, revoked), 401);
    assert.equal(await enter(running, await provider.token(`https://other.example${OPAQUE}`)), 401);
    await running.stop();
  });

  test('the SDK of MCP finds it from the 401 on, and calls a tool with its token', async () => {
    const running = await started(RESOURCE, { resource: 'http://127.0.0.1:1/mcp' });
    await running.stop();
    // The public URL has to be known before: the port of the server.
    const port = Number(new URL(running.url).port);
    const again = await startRuntime(
      configFile(
        { a: backend.url },
        {
          incomingAuth: {
            type: 'oidc',
            oidc: {
              issuer: provider.issuer,
              audience: RESOURCE,
              clientId: 'vmcp',
              resource: `http://127.0.0.1:${port}/mcp`,
              ...ON_LOOPBACK,
            },
          },
        },
      ),
      { port },
    );
    const refused = await fetch(again.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    assert.equal(refused.status, 401);
    const { resourceMetadataUrl = '' } = extractWWWAuthenticateParams(refused);
    const metadata = await discoverOAuthProtectedResourceMetadata(again.url, { resourceMetadataUrl });
    assert.deepEqual(metadata.authorization_servers, [provider.issuer]);
    assert.equal(metadata.resource, again.url);
    assert.deepEqual(await discoverOAuthProtectedResourceMetadata(again.url), metadata);
    const authorization = `Bearer ${await provider.token(RESOURCE)}`;
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(again.url), { requestInit: { headers: { authorization } } }),
    );
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['a_echo'],
    );
    await client.close();
    await again.stop();
  });
});
