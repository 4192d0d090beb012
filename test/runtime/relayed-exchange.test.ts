import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerStatus } from '../fixtures/backend.ts';
import { openWith, startRelaying } from '../fixtures/relaying-gateway.ts';
import { exchangedIn, startTokenEndpoint } from '../fixtures/token-endpoint.ts';

test('a token that a server exchanges reaches the remote server through a proxy, for each user; one that is refused there is exchanged anew', async (t) => {
  const tokens = await startTokenEndpoint();
  const tokenExchange = { tokenUrl: tokens.url, audience: 'remote' };
  const { remote, provider, gateway, stop } = await startRelaying({
    atGateway: { type: 'token_exchange', tokenExchange },
  });
  t.after(async () => {
    await stop();
    await tokens.close();
  });
  const callerWith = async (token: string) => {
    const ask = await openWith(gateway.url, { authorization: `Bearer ${token}` });
    await ask('tools/list');
    return () => ask('tools/call', { name: 'proxy_echo' });
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
});
