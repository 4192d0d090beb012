import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectStrategy } from '../../../runtime/outgoing/index.ts';
import { openGate } from '../../../runtime/gate/index.ts';
import { resultText } from '../../fixtures/answers.ts';
import { startBackend } from '../../fixtures/backend.ts';
import { userOf } from '../../fixtures/callers.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { exchangedIn, startTokenEndpoint } from '../../fixtures/token-endpoint.ts';
import { covers } from '../../requirements.ts';

const key = () => ({ type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'k' } });

covers(
  'outgoing-auth.strategy.unauthenticated',
  'outgoing.unauthenticated.no-credentials',
  'outgoing-auth.static.name-matches-group',
  'outgoing-auth.inline.unlisted-unauthenticated',
);
test('a backend gets what its own entry says, one without an entry nothing, and no backend the client’s token', async (t) => {
  const backends = { a: await startBackend(), b: await startBackend(), c: await startBackend() };
  const urls = Object.fromEntries(Object.entries(backends).map(([name, { url }]) => [name, url]));
  const outgoingAuth = { source: 'inline', backends: { a: key(), b: { type: 'unauthenticated' }, A: key() } };
  const running = await startRuntime(configFile(urls, { outgoingAuth }));
  t.after(async () => {
    await running.stop();
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
  });
  const session = await openSession(running.url, {}, { authorization: 'Bearer of-the-client', cookie: 'c=1' });
  for (const name of ['a', 'b', 'c']) assert.equal(resultText(await session.call(`${name}_echo`)), 'echo {}');
  for (const [name, { requests }] of Object.entries(backends))
    for (const { headers } of requests) {
      assert.equal(headers['x-key'], name === 'a' ? 'k' : undefined, name);
      assert.deepEqual([headers.authorization, headers.cookie], [undefined, undefined], name);
    }
});

covers('outgoing.mixed-strategies');
test('one session calls a backend with the token of a provider, and one with what that token was exchanged for', async (t) => {
  const endpoint = await startTokenEndpoint();
  const backends = { inject: await startBackend(), exchange: await startBackend() };
  const strategies: Readonly<Record<string, object>> = {
    inject: { type: 'upstream_inject', upstreamInject: { providerName: 'github' } },
    exchange: {
      type: 'token_exchange',
      tokenExchange: { tokenUrl: endpoint.url, subjectTokenType: 'access_token', subjectProviderName: 'corp' },
    },
  };
  const alice = userOf('alice', { upstreamToken: async (provider) => `alice-at-${provider}` });
  const running = await startRuntime(
    configFile({ inject: backends.inject.url, exchange: backends.exchange.url }),
    {},
    {
      features: () => ({
        gate: { ...openGate, authenticate: () => alice },
        connectStrategy: (_config, deps) => connectStrategy(strategies[deps.backend.name] as never, deps),
      }),
    },
  );
  t.after(async () => {
    await running.stop();
    await Promise.all([backends.inject.close(), backends.exchange.close(), endpoint.close()]);
  });
  const session = await openSession(running.url);
  for (const name of ['inject', 'exchange']) assert.equal(resultText(await session.call(`${name}_echo`)), 'echo {}');
  const sentTo = (name: keyof typeof backends) =>
    backends[name].requests.find(({ method }) => method === 'tools/call')?.headers.authorization;
  assert.equal(sentTo('inject'), 'Bearer alice-at-github');
  assert.equal(exchangedIn(sentTo('exchange')), 'exchanged 1 for alice-at-corp');
});
