import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { resultText } from '../../fixtures/answers.ts';
import { answerStatus, startBackend } from '../../fixtures/backend.ts';
import { startRealProvider } from '../../fixtures/oidc-provider.ts';
import { ON_LOOPBACK } from '../../fixtures/protected-gateway.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const GATEWAY = 'https://gateway.example';
const BACKEND = 'https://backend.example';

test('a token of a real provider is exchanged there, and the backend verifies what it gets by the provider’s keys', async (t) => {
  const provider = await startRealProvider();
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
  const verified = new Set<string>();
  const verify = async (authorization = ''): Promise<void> => {
    const token = authorization.slice('Bearer '.length);
    const { payload } = await jwtVerify(token, keys, { issuer: provider.issuer, audience: BACKEND });
    verified.add(String(payload['scope']));
  };
  const checks: Promise<void>[] = [];
  const backend = await startBackend({
    on: ({ recorded: { headers } }) => {
      if (headers.authorization === undefined) return answerStatus(401);
      checks.push(verify(headers.authorization));
      return undefined;
    },
  });
  const { id, secret } = provider.gateway;
  const running = await startRuntime(
    configFile(
      { a: backend.url },
      {
        incomingAuth: {
          type: 'oidc',
          oidc: { issuer: provider.issuer, audience: GATEWAY, clientId: id, ...ON_LOOPBACK },
        },
        outgoingAuth: {
          source: 'inline',
          backends: {
            a: {
              type: 'token_exchange',
              tokenExchange: {
                tokenUrl: `${provider.issuer}/token`,
                audience: BACKEND,
                scopes: ['mcp'],
                clientId: id,
                clientSecret: secret,
              },
            },
          },
        },
      },
    ),
  );
  t.after(async () => {
    await running.stop();
    await Promise.all([backend.close(), provider.close()]);
  });
  const session = await openSession(running.url, {}, { authorization: `Bearer ${await provider.token(GATEWAY)}` });
  assert.equal(resultText(await session.call('a_echo', { n: 1 })), 'echo {"n":1}');
  await Promise.all(checks);
  assert.ok(checks.length > 2);
  assert.deepEqual([...verified], ['mcp']);
});
