import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import type { Config } from '../../../runtime/config/index.ts';
import { sessionStoreSettingsOf } from '../../../runtime/config-slices.ts';
import { secretReader } from '../../../runtime/process/read-secret.ts';
import { openStore, type Store } from '../../../runtime/store/index.ts';
import type { OpenStoreDeps } from '../../../runtime/store/open-store.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { testCertificates } from '../../fixtures/certificates.ts';
import { noRedis, type RedisOptions, startRedis, startSentinel } from '../../fixtures/redis.ts';
import { hasCode } from './has-code.ts';

const clean: (() => Promise<void>)[] = [];
const later = <T extends { readonly stop: () => Promise<void> }>(each: T): T => {
  clean.unshift(each.stop);
  return each;
};

type Storage = NonNullable<Config['sessionStorage']>;
type Reached = Config['extensions']['sessionStore'];

const opened = (
  sessionStorage: Partial<Storage> | undefined,
  sessionStore?: Reached,
  { password, ...more }: Partial<OpenStoreDeps> & { readonly password?: string } = {},
): { readonly store: Store; readonly lines: readonly string[] } => {
  const lines: string[] = [];
  const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push([...Object.values(fields), message].join(': '));
  const config = {
    sessionStorage: sessionStorage && { provider: 'kvstore', db: 0, ...sessionStorage },
    extensions: sessionStore ? { sessionStore } : {},
  } as Config;
  const readText = (path: string): Promise<string> => readFile(path, 'utf8');
  const environment = (name: string) => (name === 'VMCP_SESSION_KVSTORE_PASSWORD' ? password : undefined);
  const store = openStore(sessionStoreSettingsOf(config), {
    clock: systemClock,
    random: Math.random,
    log: { info: line, warn: line },
    readFile: readText,
    readSecret: secretReader({ readFile: readText, environment }),
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

const MISTAKES: readonly {
  readonly what: string;
  readonly options?: RedisOptions;
  readonly storage?: Partial<Storage>;
  readonly reached?: Reached;
  readonly line: string;
}[] = [
  { what: 'a database that is not there', storage: { db: 99 }, line: 'ERR DB index is out of range' },
  {
    what: 'a sentinel that is none',
    reached: { sentinel: { masterName: 'main', addresses: [] } },
    line: "ERR unknown command 'sentinel'",
  },
  { what: 'no password', options: { password: 'right' }, line: 'NOAUTH Authentication required.' },
  {
    what: 'a cluster that is none',
    reached: { cluster: { addresses: [] } },
    line: 'ERR This instance has cluster support disabled',
  },
  {
    what: 'a name that the sentinels do not know',
    options: { kind: 'sentinel' },
    reached: { sentinel: { masterName: 'nope', addresses: [] } },
    line: 'no sentinel names a master',
  },
];

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
    const { store } = opened({ address: redis.address }, undefined, { password: 'from-environment' });
    await store.firstAnswer;
    await keep(store);
  });

  test('with the password of the file, which wins and may rotate', async () => {
    const folder = await scratchFolder('password');
    clean.unshift(folder.remove);
    const passwordFile = join(folder.path, 'password');
    await writeFile(passwordFile, 'first\n');
    const redis = later(await startRedis({ password: 'first' }));
    const { store, lines } = opened({ address: redis.address }, { passwordFile }, { password: 'wrong' });
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
      'connection closed: the session store is away: requests that need it are refused until it answers',
      'the session store answers',
    ]);
    await rm(passwordFile);
  });

  test('with the password of the environment while the file is not there', async () => {
    const redis = later(await startRedis({ password: 'secret' }));
    const passwordFile = '/nowhere/password';
    const { store } = opened({ address: redis.address }, { passwordFile }, { password: 'secret' });
    await store.firstAnswer;
  });

  test('with a wrong password: one line that names no secret, and a refusal at once', async () => {
    const redis = later(await startRedis({ password: 'right' }));
    const { store, lines } = opened({ address: redis.address }, undefined, { password: 'guessed' });
    await until('the line', async () => (lines.length > 0 ? true : undefined), { timeoutMs: 5_000, intervalMs: 10 });
    await assert.rejects(keep(store), hasCode('store_unavailable'));
    assert.match(lines[0] ?? '', /^WRONGPASS invalid username-password pair .*: the session store is away/);
    assert.equal(lines.length, 1);
  });

  for (const { what, options, storage, reached, line } of MISTAKES) {
    test(`with ${what}: the log has the words of the server`, async () => {
      const redis = later(await startRedis(options));
      const { lines } = opened({ address: redis.address, ...storage }, reached);
      await until('the line', async () => (lines.length > 0 ? true : undefined), { timeoutMs: 5_000, intervalMs: 10 });
      assert.equal(lines[0]?.split(': the session store is away')[0], line);
    });
  }

  test('without room for anything new: one line when it begins to refuse, one when it takes again', async () => {
    const redis = later(await startRedis());
    let later10s = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + later10s };
    const { store, lines } = opened({ address: redis.address }, undefined, { clock });
    await store.firstAnswer;
    const create = (name: string): Promise<boolean> =>
      store.createMap(name, new Map([['a', Buffer.from('1')]]), 60_000);
    await create('one');

    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    for (const name of ['two', 'three', 'four']) {
      await assert.rejects(create(name), hasCode('store_unavailable'));
      assert.equal((await store.readMap('one', 60_000))?.size, 1);
    }
    assert.equal(store.state(), 'refusing');

    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await create('five');
    assert.equal(store.state(), 'refusing', 'it may still refuse others');
    later10s = 10_000;
    await create('six');
    assert.equal(store.state(), 'up');
    assert.deepEqual(
      lines.map((line) => line.replace(/ script: .*?: the/, ' the')),
      [
        'the session store answers',
        "OOM command not allowed when used memory > 'maxmemory'. the session store answers commands with errors: requests that need them are refused",
        'the session store answers',
      ],
    );
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
