import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, suite, test } from 'node:test';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { dumpOf, noRedis, startRedis, startRedisCluster, type TestRedis } from '../../fixtures/redis.ts';
import { codeIn, registerClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';

const clean: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

const INJECTED = {
  outgoingAuth: {
    source: 'inline',
    backends: { a: { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } } },
  },
};

/** A gateway whose authorization server keeps everything in Redis, with keys of files unless `isKeyless`. */
const onRedis = async ({ isKeyless = false } = {}): Promise<{ gateway: AuthServerGateway; redis: TestRedis }> => {
  const redis = await startRedis({ password: 'password-of-a-test' });
  clean.unshift(redis.stop);
  const gateway = await startAuthServer({ more: INJECTED });
  clean.unshift(gateway.stop);
  const aclUserConfig = { passwordFile: await gateway.write('password', 'password-of-a-test') };
  const storage = { type: 'kvstore', kvstore: { addr: redis.address, aclUserConfig } };
  const hmacFiles = [await gateway.write('hmac', 'x'.repeat(40))];
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const signingKeyFiles = [await gateway.write('key.pem', pem)];
  keys.set(gateway, { storage, ...(!isKeyless && { hmacFiles, signingKeyFiles }) });
  await gateway.restart({ authServer: keys.get(gateway) });
  return { gateway, redis };
};
const keys = new Map<AuthServerGateway, object>();
const restart = (gateway: AuthServerGateway): Promise<void> => gateway.restart({ authServer: keys.get(gateway) });

const call = async ({ running }: AuthServerGateway, token: string): Promise<string> => {
  const session = await openSession(running().url, {}, { authorization: `Bearer ${token}` });
  const { json } = await session.call((await session.toolNames())[0] ?? 'none');
  return JSON.stringify(json);
};

suite('after a restart, with a store in Redis', { skip: noCertificates || noRedis }, () => {
  covers('authserver.storage.kvstore-restart');
  test('tokens of identity providers, refresh tokens, codes and logins are still there', async () => {
    const { gateway, redis } = await onRedis();
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    const code = codeIn(await client.signIn());
    const browser = gateway.browser();
    const page = await browser.open(client.authorizationUrl());
    await restart(gateway);

    assert.doesNotMatch(await call(gateway, textIn(answer, 'access_token')), /error/i);
    const sent = gateway.backend.requests.at(-1)?.headers.authorization;
    assert.equal(sent, `Bearer ${gateway.providers[0]?.lastAccessToken()}`);
    assert.equal((await client.redeem(code)).status, 200);
    assert.equal((await client.refresh(textIn(answer, 'refresh_token'))).status, 200);
    const { url } = await browser.press(page, 'approve', { stopAt: ({ searchParams }) => searchParams.has('code') });
    assert.equal((await client.redeem(codeIn(url))).status, 200);

    // And nothing of it can be read there.
    const dump = await dumpOf(redis);
    for (const secret of [
      textIn(answer, 'refresh_token'),
      gateway.providers[0]?.lastAccessToken() ?? 'none',
      code,
      'alice',
    ])
      assert.ok(!dump.includes(secret), secret);
  });

  test('all of it works in a cluster, too', async () => {
    const cluster = await startRedisCluster();
    clean.unshift(cluster.stop);
    for (const node of cluster.nodes) await node.command('ACL', 'SETUSER', 'default', '>password-of-a-test');
    const gateway = await startAuthServer({ more: INJECTED });
    clean.unshift(gateway.stop);
    const aclUserConfig = { passwordFile: await gateway.write('password', 'password-of-a-test') };
    const kvstore = { addr: cluster.addresses[0], clusterMode: true, aclUserConfig };
    await gateway.restart({ authServer: { storage: { type: 'kvstore', kvstore } } });
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    assert.equal((await client.refresh(textIn(answer, 'refresh_token'))).status, 200);
    assert.doesNotMatch(await call(gateway, textIn(answer, 'access_token')), /error/i);
  });

  test('registered clients are known although the store has lost everything', async () => {
    const { gateway, redis } = await onRedis();
    const client = await registerClient(gateway);
    await redis.command('FLUSHALL');
    assert.equal((await client.tokens()).status, 200);
  });

  test('keys that nobody names are shared by the replicas, and seen in the store by nobody who lacks the secret', async () => {
    const { gateway } = await onRedis({ isKeyless: true });
    const client = await registerClient(gateway);
    const token = textIn(await client.tokens(), 'access_token');
    // As when one replica goes and another one stays: the keys outlive a restart that is short.
    await restart(gateway);
    assert.doesNotMatch(await call(gateway, token), /error/i);
    const warned = gateway.lines.filter(({ message }) => /every user has to sign in again/.test(message));
    assert.deepEqual(warned.at(-1)?.fields, { made: ['signing key', 'HMAC secret'], isShared: true, isSealed: false });
  });

  test('a store that is away is answered with 503, and nobody is logged out', async () => {
    const { gateway, redis } = await onRedis();
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    await redis.kill();
    const refused = await client.refresh(textIn(answer, 'refresh_token'));
    assert.equal(refused.status, 503, JSON.stringify(refused.body));
    assert.equal(refused.body['error'], 'temporarily_unavailable');
    assert.ok(refused.headers.get('retry-after'));
    // RFC 6749 §4.1.2.1
    assert.equal((await client.signIn()).searchParams.get('error'), 'temporarily_unavailable');
  });
});
