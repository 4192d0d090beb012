import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectStrategy } from '../../runtime/outgoing/index.ts';
import { systemClock } from '../../runtime/process/index.ts';
import { answerStatus } from '../fixtures/backend.ts';
import { REGION, roleArn } from '../fixtures/cloud-sts.ts';
import { openWith, startRelaying } from '../fixtures/relaying-gateway.ts';
import { startSts, stsError } from '../fixtures/sts.ts';
import { exchangedIn, startTokenEndpoint } from '../fixtures/token-endpoint.ts';

test('a token that the cloud provider calls expired is exchanged anew by the server that has handed it over', async (t) => {
  const tokens = await startTokenEndpoint();
  const sts = await startSts(systemClock);
  const { remote, provider, gateway, stop } = await startRelaying({
    atProxy: { type: 'cloud_sts', cloudSts: { region: REGION, fallbackRoleArn: roleArn('reader') } },
    atGateway: { type: 'token_exchange', tokenExchange: { tokenUrl: tokens.url, audience: 'remote' } },
    connect: (config, deps) => connectStrategy(config, { ...deps, fetch: sts.fetch }),
  });
  t.after(async () => {
    await stop();
    await Promise.all([tokens.close(), sts.close()]);
  });
  const ask = await openWith(gateway.url, { authorization: `Bearer ${await provider.token({ sub: 'alice' })}` });
  await ask('tools/list');
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
  const { status, text } = await ask('tools/call', { name: 'proxy_echo' });
  assert.equal(status, 200);
  assert.match(text, /"result"/);
  assert.deepEqual([calls, refusals, tokens.exchanges.length], [2, 1, 2]);
  assert.deepEqual(
    sts.given.map(({ token }) => exchangedIn(`Bearer ${token}`)?.slice(0, 11)),
    ['exchanged 1', 'exchanged 2'],
  );
});
