import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { type Behaviour, textResult } from '../fixtures/backend.ts';
import { AUDIENCE } from '../fixtures/identity-provider.ts';
import { post } from '../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../fixtures/redis.ts';
import { isReady, openShared } from '../fixtures/replicas.ts';
import { startRuntime } from '../fixtures/runtime.ts';
import { is, startWatched, WATCHED, withToken } from '../fixtures/watched-gateway.ts';

const OTHER_AUDIENCE = 'https://other.example';

/** Two replicas, the second one called `other`, which take tokens for the other audience once they are told. */
const start = async (t: TestContext) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const more = { sessionStorage: { provider: 'kvstore', address: redis.address } };
  const answers = Promise.withResolvers<void>();
  const slowly: Behaviour = ({ id, response }) =>
    void answers.promise.then(() => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${textResult('late')}}`);
    });
  const gateway = await startWatched(t, {
    more,
    backend: { ...WATCHED, on: ({ recorded: { method } }) => (method === 'tools/call' ? slowly : undefined) },
  });
  const { provider, clock, running } = gateway;
  const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
  const other = await startRuntime(gateway.file(keys, more), {}, { clock });
  t.after(() => other.stop());
  for (const { managementUrl } of [running, other]) await isReady(managementUrl);
  return {
    gateway,
    other,
    answer: () => answers.resolve(),
    change: (replica: typeof other): void =>
      assert.deepEqual(replica.reload(gateway.file({ ...keys, audience: OTHER_AUDIENCE }, more)), { ok: true }),
    /** Step by step, as what is sent to the store has deadlines, too. */
    pass: async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000);
        for (const { managementUrl } of [running, other]) await isReady(managementUrl);
      }
    },
    oldToken: () => provider.token({ aud: AUDIENCE }),
    newToken: () => provider.token({ aud: OTHER_AUDIENCE }),
  };
};

const ping = (id: string) => ({ jsonrpc: '2.0', id, method: 'ping' });

describe(
  'a shared session that one replica has left, as it did not know its caller any more',
  { skip: noRedis },
  () => {
    test('goes on where its client has come back to another one with a newer token, its calls included', async (t) => {
      const { gateway, other, change, pass, oldToken, newToken, answer } = await start(t);
      const { running, backend } = gateway;
      const session = await openShared(running.url, {}, withToken(await oldToken()));
      for (const [index, { url }] of [running, other].entries())
        assert.equal((await session.send(url, { id: index, method: 'ping' })).status, 200);
      for (const replica of [running, other]) change(replica);
      assert.equal((await session.send(other.url, { id: 'old', method: 'ping' })).status, 401);
      const good = { ...withToken(await newToken()), 'mcp-session-id': session.id };
      assert.equal((await post(other.url, ping('new'), good)).status, 200);
      await pass(25);
      const call = post(
        other.url,
        { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'a_echo' } },
        good,
      );
      await is('the call', () => backend.requests.some(({ method }) => method === 'tools/call'));
      await pass(10);
      assert.equal((await post(other.url, ping('later'), good)).status, 200);
      answer();
      assert.match((await call).text, /late/);
    });

    test('goes on where another replica, changed before, had got a newer token already', async (t) => {
      const { gateway, other, change, pass, oldToken, newToken } = await start(t);
      const { running } = gateway;
      const session = await openShared(running.url, {}, withToken(await oldToken()));
      assert.equal((await session.send(running.url, { id: 1, method: 'ping' })).status, 200);
      change(other);
      const good = { ...withToken(await newToken()), 'mcp-session-id': session.id };
      assert.equal((await post(other.url, ping('new'), good)).status, 200);
      change(running);
      await pass(35);
      assert.equal((await post(other.url, ping('later'), good)).status, 200);
    });

    test('ends at all replicas where none has seen a newer token', async (t) => {
      const { gateway, other, change, pass, oldToken, newToken } = await start(t);
      const { running } = gateway;
      const session = await openShared(running.url, {}, withToken(await oldToken()));
      for (const [index, { url }] of [running, other].entries())
        assert.equal((await session.send(url, { id: index, method: 'ping' })).status, 200);
      change(running);
      await pass(10);
      change(other);
      await pass(35);
      const good = { ...withToken(await newToken()), 'mcp-session-id': session.id };
      for (const { url } of [running, other]) assert.equal((await post(url, ping('late'), good)).status, 404);
    });
  },
);
