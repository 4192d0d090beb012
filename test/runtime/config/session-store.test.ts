import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderConfig, startupKeysOf, withStartupKeys } from '../../../runtime/config/index.ts';
import { check, MINIMAL } from './files.ts';

const storage = { provider: 'kvstore', address: 'redis:6379' } as const;
const file = (sessionStore: object, more: object = {}) => ({
  sessionStorage: { ...storage, ...more },
  extensions: { sessionStore },
});
const tls = { caFile: '/etc/ca/ca.crt', insecureSkipVerify: false };

test('how the store is reached: user, TLS, Sentinel, cluster', () => {
  check({
    accepts: [
      file({ username: 'vmcp', passwordFile: '/run/secrets/redis', tls: {} }),
      file({ tls, sentinel: { masterName: 'main', addresses: ['b:26379', '[::1]:26379'], tls, username: 'watcher' } }),
      file({ cluster: {} }),
      file({ cluster: { addresses: ['b:6379'] } }, { db: 0 }),
    ],
    refuses: [
      [file({ sentinel: {} }), /^extensions\.sessionStore\.sentinel\.masterName: /],
      [file({ passwordFile: 'password' }), 'extensions.sessionStore.passwordFile: not an absolute path'],
      [file({ cluster: { addresses: ['b'] } }), 'extensions.sessionStore.cluster.addresses[0]: not host:port'],
      [file({ cluster: { addresses: ['b:99999'] } }), 'extensions.sessionStore.cluster.addresses[0]: not host:port'],
      [
        file({ cluster: {}, sentinel: { masterName: 'main' } }),
        'extensions.sessionStore: sentinel and cluster exclude each other',
      ],
      [file({ cluster: {} }, { db: 2 }), 'sessionStorage.db: a cluster has database 0 only'],
      [
        { extensions: { sessionStore: { username: 'vmcp' } } },
        'extensions.sessionStore: sessionStore says how a key-value store is reached, and sessionStorage names none',
      ],
    ],
  });
});

const NAMES = ['redis', 'redis:6379', 'redis.shared.svc:6379', '10.0.0.1:1', 'r:65535'];
const IPV6 = ['::1', 'fd00::12:1', '[::1]', '[::1]:6379', '::ffff:10.0.0.1'];
const WRONG_PORTS = ['redis:6379:77', 'redis:99999', 'redis:65536', 'redis:0', 'redis:', 'redis:abc', '::1]:6379'];
const NO_HOSTS = ['http://redis:6379', 'redis://redis', 'redis/0', 'user@redis', 'a redis', '[::1', ':6379'];

test('the address of the store is a host, maybe with a port', () => {
  const at = (address: string) => ({ sessionStorage: { provider: 'kvstore', address } });
  const wrong = 'sessionStorage.address: not a host, maybe with a port';
  check({
    accepts: [...NAMES, ...IPV6].map(at),
    refuses: [...WRONG_PORTS, ...NO_HOSTS].map((address): [{ readonly sessionStorage: object }, string] => [
      at(address),
      wrong,
    ]),
  });
});

test('how the store is reached cannot change while the server runs, whatever else does under extensions', () => {
  const value = {
    ...MINIMAL,
    sessionStorage: storage,
    extensions: { allowedHosts: ['a.example'], sessionStore: { username: 'vmcp', tls: { insecureSkipVerify: false } } },
  };
  const startup = { sessionStorage: storage, extensions: { sessionStore: { username: 'vmcp', tls: {} } } };
  assert.deepEqual(startupKeysOf(value), startup);
  const newer = {
    ...MINIMAL,
    name: 'newer',
    extensions: { allowedHosts: ['b.example'], sessionStore: { username: 'other' } },
  };
  assert.deepEqual(withStartupKeys(newer, value), {
    ...newer,
    sessionStorage: storage,
    extensions: { ...newer.extensions, sessionStore: value.extensions.sessionStore },
  });
  assert.deepEqual(withStartupKeys(newer, MINIMAL), {
    ...newer,
    extensions: { allowedHosts: ['b.example'] },
  });
  assert.match(renderConfig(value), /sessionStore:\n {4}username: vmcp\n {4}tls: \{\}/);
});
