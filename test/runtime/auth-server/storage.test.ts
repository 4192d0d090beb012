import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { authStoreSettingsOf } from '../../../runtime/auth-server/settings.ts';
import { secretReader, systemClock } from '../../../runtime/process/index.ts';
import { openStore, type Store } from '../../../runtime/store/index.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { noCertificates, testCertificates } from '../../fixtures/certificates.ts';
import { noRedis, startRedis, startRedisCluster, startSentinel } from '../../fixtures/redis.ts';
import { covers } from '../../requirements.ts';
import { accepted } from '../config/files.ts';

const ISSUER = 'https://as.example';
const PREFIX = `vmcp:auth:${hash('sha256', ISSUER, 'base64url').slice(0, 16)}:`;
const PASSWORD = 'password-of-a-test';

const clean: (() => Promise<void>)[] = [];
const later = <T extends { readonly stop: () => Promise<void> }>(each: T): T => {
  clean.unshift(each.stop);
  return each;
};

afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

/** `authServer.storage` as a file has it, read by the schema. */
const settingsOf = (storage: object) =>
  authStoreSettingsOf(
    accepted({
      incomingAuth: { type: 'oidc', oidc: { issuer: ISSUER, audience: 'tools', clientId: 'vmcp' } },
      authServer: {
        issuer: ISSUER,
        storage,
        upstreamProviders: [
          { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example', clientId: 'vmcp' } },
        ],
      },
    }),
  );

const secretFile = async (content: string): Promise<string> => {
  const folder = await scratchFolder('secret');
  clean.unshift(folder.remove);
  const path = join(folder.path, 'secret');
  await writeFile(path, content);
  return path;
};

/** The store of the authorization server with these keys of `kvstore`, beside the password. */
const opened = async (kvstore: object): Promise<{ readonly store: Store; readonly lines: readonly string[] }> => {
  const lines: string[] = [];
  const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push([...Object.values(fields), message].join(': '));
  const readText = (path: string): Promise<string> => readFile(path, 'utf8');
  const aclUserConfig = { passwordFile: await secretFile(PASSWORD) };
  const store = openStore(settingsOf({ type: 'kvstore', kvstore: { aclUserConfig, ...kvstore } }), {
    clock: systemClock,
    random: Math.random,
    log: { info: line, warn: line },
    readFile: readText,
    readSecret: secretReader({ readFile: readText, environment: () => undefined }),
    what: 'the store of the authorization server',
  });
  clean.unshift(() => store.close());
  return { store, lines };
};

const keep = (store: Store): Promise<void> => store.set('key', Buffer.from('x'), 60_000);

const inMs = async (work: Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work.catch(() => {});
  return performance.now() - begun;
};

covers('authserver.storage.type-default');
test('without storage everything is kept in the process', () => {
  assert.deepEqual(settingsOf({}), { kind: 'memory' });
});

describe('the store of the authorization server', { skip: noRedis }, () => {
  covers('authserver.kvstore.addr-standalone', 'authserver.kvstore.password-only-auth');
  test('is at its address, whose password is shown without a name', async () => {
    const redis = later(await startRedis({ password: PASSWORD }));
    const { store } = await opened({ addr: redis.address });
    await store.firstAnswer;
    await keep(store);
    assert.equal(await redis.command('GET', `${PREFIX}key`), 'x');
    assert.match(await redis.command('CLIENT', 'LIST'), /name=vmcp .*user=default /);
  });

  covers('authserver.kvstore.acl-auth');
  test('is entered as the user of the file', async () => {
    const redis = later(await startRedis());
    await redis.command('ACL', 'SETUSER', 'gateway', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
    const aclUserConfig = { usernameFile: await secretFile('gateway\n'), passwordFile: await secretFile(PASSWORD) };
    const { store } = await opened({ addr: redis.address, aclUserConfig });
    await store.firstAnswer;
    await keep(store);
    assert.match(await redis.command('CLIENT', 'LIST'), /name=vmcp .*user=gateway /);
  });

  covers('authserver.kvstore.cluster-protocol');
  test('follows the slots of a cluster', async () => {
    const cluster = later(await startRedisCluster());
    for (const node of cluster.nodes) await node.command('ACL', 'SETUSER', 'default', `>${PASSWORD}`);
    const { store } = await opened({ addr: cluster.addresses[0], clusterMode: true });
    await store.firstAnswer;
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await store.set(name, Buffer.from(name), 60_000);
    const counts = await Promise.all(cluster.nodes.map((node) => node.command('-a', PASSWORD, 'DBSIZE')));
    assert.ok(counts.filter((count) => Number(count.split('\n').at(-1)) > 0).length > 1, counts.join());
  });

  covers(
    'authserver.kvstore.sentinel-master-used',
    'authserver.kvstore.sentinel-addrs-format',
    'authserver.kvstore.sentinel-db-default',
    'authserver.kvstore.sentinel-tls-omitted',
  );
  test('is the master that a sentinel names', async () => {
    const set = later(await startSentinel());
    await set.master.command('ACL', 'SETUSER', 'default', `>${PASSWORD}`);
    const addresses = ['127.0.0.1:1', set.sentinel.address];
    const { store } = await opened({ sentinelConfig: { masterName: 'main', sentinelAddrs: addresses } });
    await store.firstAnswer;
    await keep(store);
    assert.match(await set.master.command('-a', PASSWORD, '-n', '0', 'GET', `${PREFIX}key`), /^x$/m);
  });

  covers('authserver.kvstore.sentinel-db-set');
  test('is the database that is named', async () => {
    const set = later(await startSentinel());
    await set.master.command('ACL', 'SETUSER', 'default', `>${PASSWORD}`);
    const { store } = await opened({
      sentinelConfig: { masterName: 'main', sentinelAddrs: [set.sentinel.address], db: 5 },
    });
    await store.firstAnswer;
    await keep(store);
    assert.match(await set.master.command('-a', PASSWORD, '-n', '5', 'GET', `${PREFIX}key`), /^x$/m);
  });

  covers('authserver.kvstore.dial-timeout-set');
  test('has its time to connect', async () => {
    // Takes connections and says nothing, as a host that is overloaded.
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    clean.unshift(async () => void silent.close());
    const addr = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const begun = performance.now();
    const { lines } = await opened({ addr, dialTimeout: '300ms' });
    await until('the line', async () => (lines.length > 0 ? true : undefined), { timeoutMs: 4_000, intervalMs: 10 });
    assert.ok(performance.now() - begun >= 290);
    assert.match(lines[0] ?? '', /no answer in time.*the store of the authorization server is away/);
  });

  covers('authserver.kvstore.read-timeout-set');
  test('has its time to answer', async () => {
    const redis = later(await startRedis({ password: PASSWORD }));
    const { store } = await opened({ addr: redis.address, readTimeout: '400ms' });
    await store.firstAnswer;
    redis.freeze();
    clean.unshift(async () => redis.thaw());
    const waited = await inMs(keep(store));
    assert.ok(waited >= 390 && waited < 2_500, `${waited} ms`);
  });

  covers('authserver.kvstore.write-timeout-set');
  test('has its time to take what is sent', async () => {
    const redis = later(await startRedis({ password: PASSWORD }));
    const { store } = await opened({ addr: redis.address, readTimeout: '20s', writeTimeout: '500ms' });
    await store.firstAnswer;
    redis.freeze();
    clean.unshift(async () => redis.thaw());
    // More than the buffers between here and there hold.
    const large = Buffer.alloc(1024 * 1024);
    const writes = Array.from({ length: 24 }, (_, at) => inMs(store.set(`large-${at}`, large, 60_000)));
    const waited = Math.max(...(await Promise.all(writes)));
    assert.ok(waited >= 490 && waited < 10_000, `${waited} ms`);
  });

  covers(
    'authserver.kvstore.dial-timeout-default',
    'authserver.kvstore.read-timeout-default',
    'authserver.kvstore.write-timeout-default',
  );
  test('has the usual times otherwise', () => {
    const settings = settingsOf({
      type: 'kvstore',
      kvstore: { addr: 'kv:6379', aclUserConfig: { passwordFile: '/p' } },
    });
    assert.deepEqual(settings.kind === 'redis' && settings.times, {
      connectMs: 5_000,
      commandMs: 3_000,
      writeMs: 3_000,
    });
  });

  covers('authserver.kvstore.tls-omitted');
  test('speaks plain text without tls', async () => {
    let first = '';
    const listener = createServer((socket) => socket.once('data', (data) => (first = data.toString())));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    clean.unshift(async () => void listener.close());
    await opened({ addr: `127.0.0.1:${(listener.address() as AddressInfo).port}` });
    await until('the first bytes', async () => (first === '' ? undefined : true), { timeoutMs: 4_000, intervalMs: 10 });
    assert.match(first, /^\*\d+\r\n\$\d+\r\nauth\r\n/i);
  });
});

describe('its connection over TLS', { skip: noRedis || noCertificates }, () => {
  const overTls = async () => {
    const certificates = await testCertificates();
    clean.unshift(certificates.remove);
    return { certificates, redis: later(await startRedis({ tls: certificates, password: PASSWORD })) };
  };
  const refusalOf = async (kvstore: object): Promise<string> => {
    const { lines } = await opened(kvstore);
    await until('the line', async () => (lines.length > 0 ? true : undefined), { timeoutMs: 6_000, intervalMs: 10 });
    return lines[0] ?? '';
  };

  covers('authserver.kvstore.tls-ca');
  test('trusts the authority of the file, and no other', async () => {
    const { certificates, redis } = await overTls();
    const { store } = await opened({ addr: redis.address, tls: { caCertFile: certificates.caFile } });
    await store.firstAnswer;
    await keep(store);
    const other = await testCertificates();
    clean.unshift(other.remove);
    assert.match(
      await refusalOf({ addr: redis.address, tls: { caCertFile: other.caFile } }),
      /UNABLE|SELF|CERT|SIGNATURE/,
    );
  });

  covers('authserver.kvstore.tls-enabled', 'authserver.kvstore.tls-system-roots');
  test('is there as soon as tls is, and trusts the authorities of the system', async () => {
    const { redis } = await overTls();
    assert.match(await refusalOf({ addr: redis.address, tls: {} }), /UNABLE|SELF|CERT/);
  });

  covers('authserver.kvstore.tls-skip-verify');
  test('takes any certificate where it is told to', async () => {
    const { redis } = await overTls();
    const { store } = await opened({ addr: redis.address, tls: { insecureSkipVerify: true } });
    await store.firstAnswer;
    await keep(store);
  });

  /** A master without TLS, and a sentinel that speaks nothing else. */
  const sentinelOverTls = async () => {
    const certificates = await testCertificates();
    clean.unshift(certificates.remove);
    const master = later(await startRedis({ password: PASSWORD }));
    const [host = '', port = ''] = master.address.split(':');
    const lines = [`sentinel monitor main ${host} ${port} 1`];
    const sentinel = later(await startRedis({ kind: 'sentinel', tls: certificates, lines }));
    return { certificates, master, sentinel };
  };

  covers(
    'authserver.kvstore.sentinel-tls-enabled',
    'authserver.kvstore.sentinel-tls-ca',
    'authserver.kvstore.sentinel-tls-scope',
    'authserver.kvstore.sentinel-tls-skip-verify',
  );
  test('to sentinels is a matter of its own: the store itself goes on without', async () => {
    const { certificates, master, sentinel } = await sentinelOverTls();
    const sentinelConfig = { masterName: 'main', sentinelAddrs: [sentinel.address] };
    for (const sentinelTls of [{ caCertFile: certificates.caFile }, { insecureSkipVerify: true }]) {
      const { store } = await opened({ sentinelConfig, sentinelTls });
      await store.firstAnswer;
      await keep(store);
    }
    assert.equal(await master.command('GET', `${PREFIX}key`), 'x');
    assert.match(await refusalOf({ sentinelConfig, sentinelTls: {} }), /away/);
    assert.match(await refusalOf({ sentinelConfig }), /away/);
  });
});

covers(
  'authserver.kvstore.sentinel-service-namespace-set',
  'authserver.kvstore.sentinel-service-port-default',
  'authserver.kvstore.sentinel-service-port-set',
);
test('sentinels behind a Service are asked at its name', () => {
  const addressesOf = (sentinelService: object): readonly string[] => {
    const kvstore = { aclUserConfig: { passwordFile: '/p' }, sentinelConfig: { masterName: 'main', sentinelService } };
    const settings = settingsOf({ type: 'kvstore', kvstore });
    return settings.kind === 'redis' ? settings.addresses : [];
  };
  assert.deepEqual(addressesOf({ name: 'sentinel', namespace: 'stores' }), ['sentinel.stores.svc:26379']);
  assert.deepEqual(addressesOf({ name: 'sentinel', namespace: 'stores', port: 5000 }), ['sentinel.stores.svc:5000']);
  assert.deepEqual(addressesOf({ name: 'sentinel' }), ['sentinel:26379']);
});
