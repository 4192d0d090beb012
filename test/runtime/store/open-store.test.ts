import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { openStore, type OpenStoreDeps, type Store, type StoreConfig } from '../../../runtime/store/index.ts';
import { systemClock } from '../../../runtime/system-clock.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { testCertificates } from '../../fixtures/certificates.ts';
import { noRedis, startRedis, startSentinel } from '../../fixtures/redis.ts';
import { hasCode } from './has-code.ts';

const clean: (() => Promise<void>)[] = [];
const later = <T extends { readonly stop: () => Promise<void> }>(each: T): T => {
  clean.unshift(each.stop);
  return each;
};

type Storage = NonNullable<StoreConfig['sessionStorage']>;
type Reached = StoreConfig['extensions']['sessionStore'];

const opened = (
  sessionStorage: Partial<Storage> | undefined,
  sessionStore?: Reached,
  more: Partial<OpenStoreDeps> = {},
): { readonly store: Store; readonly lines: readonly string[] } => {
  const lines: string[] = [];
  const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push([...Object.values(fields), message].join(': '));
  const config = {
    sessionStorage: sessionStorage && { provider: 'kvstore', db: 0, ...sessionStorage },
    extensions: sessionStore ? { sessionStore } : {},
  } as StoreConfig;
  const store = openStore(config, {
    clock: systemClock,
    random: Math.random,
    log: { info: line, warn: line },
    passwordFromEnvironment: undefined,
    readFile: (path) => readFile(path, 'utf8'),
    ...more,
  });
  clean.unshift(() => store.close());
  return { store, lines };
};

const keep = (store: Store): Promise<void> => store.set('key', Buffer.from('x'), 60_000);

afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

test('without a key-value store everything is kept in memory, and is there at once', async () => {
  for (const storage of [undefined, { provider: 'memory' } as const]) {
    const { store, lines } = opened(storage);
    await store.firstAnswer;
    await keep(store);
    assert.equal(store.state(), 'up');
    assert.deepEqual(lines, []);
  }
});

describe('a store in Redis is opened as configured', { skip: noRedis }, () => {
  test('at its address', async () => {
    const redis = later(await startRedis());
    const { store } = opened({ address: redis.address });
    await store.firstAnswer;
    await keep(store);
    assert.equal(await redis.command('KEYS', '*'), 'vmcp:key');
  });

  test('in its database', async () => {
    const redis = later(await startRedis());
    const { store } = opened({ address: redis.address, db: 3 });
    await store.firstAnswer;
    await keep(store);
    assert.equal(await redis.command('INFO', 'keyspace').then((text) => /^db\d+/m.exec(text)?.[0]), 'db3');
  });

  test('under its prefix, keys and channels alike', async () => {
    const redis = later(await startRedis());
    const { store } = opened({ address: redis.address, keyPrefix: 'team-a:' });
    await store.firstAnswer;
    await keep(store);
    await store.createMap('map', new Map([['a', Buffer.from('1')]]), 60_000);
    await store.subscribe('news', () => {}).isLive;
    const names = `${await redis.command('KEYS', '*')}\n${await redis.command('PUBSUB', 'CHANNELS')}`.split('\n');
    assert.deepEqual(names.sort(), ['team-a:key', 'team-a:map', 'team-a:news']);
  });

  test('with the password of the environment', async () => {
    const redis = later(await startRedis({ password: 'from-environment' }));
    const { store } = opened({ address: redis.address }, undefined, { passwordFromEnvironment: 'from-environment' });
    await store.firstAnswer;
    await keep(store);
  });

  test('with the password of the file, which wins and may rotate', async () => {
    const folder = await scratchFolder('password');
    clean.unshift(folder.remove);
    const passwordFile = join(folder.path, 'password');
    await writeFile(passwordFile, 'first\n');
    const redis = later(await startRedis({ password: 'first' }));
    const { store, lines } = opened({ address: redis.address }, { passwordFile }, { passwordFromEnvironment: 'wrong' });
    await store.firstAnswer;

    await redis.command('CONFIG', 'SET', 'requirepass', 'second');
    await writeFile(passwordFile, 'second');
    const newer = async (...args: string[]): Promise<string> => redis.command('-a', 'second', ...args);
    await newer('CLIENT', 'KILL', 'TYPE', 'normal');
    await newer('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('the reconnect', async () => (lines.length === 3 ? true : undefined), {
      timeoutMs: 5_000,
      intervalMs: 10,
    });
    await keep(store);
    assert.deepEqual(lines, [
      'the session store answers',
      'connection closed: the session store is away: requests that need a session are refused until it answers',
      'the session store answers',
    ]);
    await rm(passwordFile);
  });

  test('with the password of the environment while the file is not there', async () => {
    const redis = later(await startRedis({ password: 'secret' }));
    const passwordFile = '/nowhere/password';
    const { store } = opened({ address: redis.address }, { passwordFile }, { passwordFromEnvironment: 'secret' });
    await store.firstAnswer;
  });

  test('with a wrong password: one line that names no secret, and a refusal at once', async () => {
    const redis = later(await startRedis({ password: 'right' }));
    const { store, lines } = opened({ address: redis.address }, undefined, { passwordFromEnvironment: 'guessed' });
    await until('the line', async () => (lines.length > 0 ? true : undefined), { timeoutMs: 5_000, intervalMs: 10 });
    await assert.rejects(keep(store), hasCode('store_unavailable'));
    assert.match(lines[0] ?? '', /^WRONGPASS: the session store is away/);
    assert.equal(lines.length, 1);
  });

  test('over TLS', async () => {
    const certificates = await testCertificates();
    clean.unshift(certificates.remove);
    const redis = later(await startRedis({ tls: certificates }));
    const { store } = opened(
      { address: redis.address },
      { tls: { caFile: certificates.caFile, insecureSkipVerify: false } },
    );
    await store.firstAnswer;
    await keep(store);
  });

  test('through sentinels', async () => {
    const set = later(await startSentinel());
    const { store } = opened(
      { address: '127.0.0.1:1' },
      { sentinel: { masterName: 'main', addresses: [set.sentinel.address] } },
    );
    await store.firstAnswer;
    await keep(store);
    assert.equal(await set.master.command('KEYS', '*'), 'vmcp:key');
  });
});
