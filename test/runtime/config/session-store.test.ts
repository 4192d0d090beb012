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
