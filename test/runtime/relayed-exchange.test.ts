import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerStatus, startBackend } from '../fixtures/backend.ts';
import { AUDIENCE, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { ON_LOOPBACK } from '../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { exchangedIn, startTokenEndpoint } from '../fixtures/token-endpoint.ts';

test('a token that a server exchanges reaches the remote server through a proxy, for each user; one that is refused there is exchanged anew', async () => {
  const remote = await startBackend({ tools: ['echo'] });
  const provider = await startIdentityProvider();
  const tokens = await startTokenEndpoint();
  const proxy = await startRuntime(
    configFile(
      { remote: remote.url },
      {
        incomingAuth: { type: 'anonymous', relaysCredentials: true },
        outgoingAuth: { source: 'inline', backends: { remote: { type: 'token_relay', tokenRelay: {} } } },
        aggregation: { conflictResolutionConfig: { prefixFormat: '' } },
      },
    ),
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
  const callerWith = async (token: string) => {
    const authorization = { authorization: `Bearer ${token}` };
    const { headers } = await post(gateway.url, INITIALIZE, authorization);
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', ...authorization };
    await post(gateway.url, { jsonrpc: '2.0', id: 0, method: 'tools/list', params: {} }, session);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'proxy_echo' } };
    return () => post(gateway.url, call, session);
  };
  const seen = () =>
    remote.requests
      .filter(({ method }) => method === 'tools/call')
      .map(({ headers }) => exchangedIn(headers.authorization));
  const [alice, bob] = [await provider.token({ sub: 'alice' }), await provider.token({ sub: 'bob' })];
  const [callAlice, callBob] = [await callerWith(alice), await callerWith(bob)];
  for (const call of [callAlice, callBob, callAlice, callBob]) assert.match((await call()).text, /"result"/);
  const [ofAlice, ofBob] = [`exchanged 1 for ${alice}`, `exchanged 2 for ${bob}`];
  assert.deepEqual(seen(), [ofAlice, ofBob, ofAlice, ofBob]);

  remote.set({
    on: ({ recorded }) => (exchangedIn(recorded.headers.authorization) === ofAlice ? answerStatus(401) : undefined),
  });
  const { status, text } = await callAlice();
  assert.equal(status, 200);
  assert.match(text, /"result"/);
  assert.equal(seen().at(-1), `exchanged 3 for ${alice}`);
  await gateway.stop();
  await proxy.stop();
  await Promise.all([remote.close(), provider.close(), tokens.close()]);
});
