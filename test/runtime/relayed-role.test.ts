import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectStrategy } from '../../runtime/outgoing/index.ts';
import { systemClock } from '../../runtime/process/index.ts';
import { answerStatus, startBackend } from '../fixtures/backend.ts';
import { roleArn } from '../fixtures/cloud-sts.ts';
import { AUDIENCE, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { ON_LOOPBACK } from '../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { startSts, stsError } from '../fixtures/sts.ts';
import { exchangedIn, startTokenEndpoint } from '../fixtures/token-endpoint.ts';

test('a token that the cloud provider calls expired is exchanged anew by the server that has handed it over', async () => {
  const remote = await startBackend({ tools: ['echo'] });
  const provider = await startIdentityProvider();
  const tokens = await startTokenEndpoint();
  const sts = await startSts(systemClock);
  const cloudSts = { region: 'eu-west-1', fallbackRoleArn: roleArn('reader') };
  const proxy = await startRuntime(
    configFile(
      { remote: remote.url },
      {
        incomingAuth: { type: 'anonymous', relaysCredentials: true },
        outgoingAuth: { source: 'inline', backends: { remote: { type: 'cloud_sts', cloudSts } } },
        aggregation: { conflictResolutionConfig: { prefixFormat: '' } },
      },
    ),
    {},
    { features: () => ({ connectStrategy: (config, deps) => connectStrategy(config, { ...deps, fetch: sts.fetch }) }) },
  );
  const tokenExchange = { tokenUrl: tokens.url, audience: 'remote' };
  const gateway = await startRuntime(
    configFile(
      {},
      {
        backends: [{ name: 'proxy', url: proxy.url, transport: 'streamable-http', relaysCredentials: true }],
        incomingAuth: {
          type: 'oidc',
          oidc: { issuer: provider.issuer, audience: AUDIENCE, clientId: 'vmcp', ...ON_LOOPBACK },
        },
        outgoingAuth: { source: 'inline', backends: { proxy: { type: 'token_exchange', tokenExchange } } },
      },
    ),
  );
  const authorization = { authorization: `Bearer ${await provider.token({ sub: 'alice' })}` };
  const { headers } = await post(gateway.url, INITIALIZE, authorization);
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', ...authorization };
  await post(gateway.url, { jsonrpc: '2.0', id: 0, method: 'tools/list', params: {} }, session);
  assert.equal(tokens.exchanges.length, 1);

  // The role's credentials are revoked, and the token that they were had for has ended.
  let calls = 0;
  remote.set({
    on: ({ recorded }) => (recorded.method === 'tools/call' && (calls += 1) === 1 ? answerStatus(401) : undefined),
  });
  let refusals = 0;
  sts.instead = (request, response) => {
    refusals += 1;
    sts.instead = undefined;
    stsError('ExpiredTokenException')(request, response);
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'proxy_echo' } };
  const { status, text } = await post(gateway.url, call, session);
  assert.equal(status, 200);
  assert.match(text, /"result"/);
  assert.deepEqual([calls, refusals, tokens.exchanges.length], [2, 1, 2]);
  assert.deepEqual(
    sts.given.map(({ token }) => exchangedIn(`Bearer ${token}`)?.slice(0, 11)),
    ['exchanged 1', 'exchanged 2'],
  );
  await gateway.stop();
  await proxy.stop();
  await Promise.all([remote.close(), provider.close(), tokens.close(), sts.close()]);
});
