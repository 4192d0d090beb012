import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionStoreSettingsOf, tokenRecipientsOf, wantedBackendsOf } from '../../runtime/config-slices.ts';
import { covers } from '../requirements.ts';
import { accepted } from './config/files.ts';

const url = 'http://a.example/mcp';
const transport = 'streamable-http';

test('a backend has its own timeout and strategy, else the default, whatever it is called', () => {
  const config = accepted({
    backends: [
      { name: 'a', url, transport, type: 'entry', caBundlePath: '/ca.crt' },
      { name: 'constructor', url, transport },
    ],
    operational: { timeouts: { perWorkload: { a: '5s' } }, failureHandling: { healthCheckInterval: '20s' } },
    outgoingAuth: { source: 'inline', backends: { a: { type: 'unauthenticated' } } },
    extensions: { perWorkload: { a: { calls: 7 } } },
  });
  const strategy = { type: 'unauthenticated' };
  const circuitBreaker = { isEnabled: false, failureThreshold: 5, timeoutMs: 60_000 };
  const health = { intervalMs: 20_000, timeoutMs: 10_000, unhealthyThreshold: 3 };
  assert.deepEqual(wantedBackendsOf(config), [
    {
      settings: { name: 'a', url, transport, strategy, caBundlePath: '/ca.crt' },
      tuning: { idleTimeoutMs: 5_000, health, circuitBreaker, maxCalls: 7 },
    },
    {
      settings: { name: 'constructor', url, transport, strategy },
      tuning: { idleTimeoutMs: 30_000, health, circuitBreaker, maxCalls: 512 },
    },
  ]);
});

covers('outgoing.cloud-sts.subject-provider-autofill');
test('tokens of a provider go to backends that use it, and to the token endpoints that it is exchanged at', () => {
  const names = ['injected', 'exchanged', 'first', 'role', 'first-role', 'own-token', 'open'];
  const config = accepted({
    backends: names.map((name) => ({ name, url: `http://${name}.example:8080/mcp`, transport })),
    outgoingAuth: { source: 'inline' },
  });
  const exchange = { tokenUrl: 'https://sts.example/token', subjectTokenType: 'jwt' } as const;
  const role = { region: 'eu-west-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/a' };
  const backends = {
    injected: { type: 'upstream_inject', upstreamInject: { providerName: 'github' } },
    exchanged: { type: 'token_exchange', tokenExchange: { ...exchange, subjectProviderName: 'github' } },
    first: { type: 'token_exchange', tokenExchange: exchange },
    role: { type: 'cloud_sts', cloudSts: { ...role, subjectProviderName: 'okta' } },
    'first-role': { type: 'cloud_sts', cloudSts: role },
    open: { type: 'unauthenticated' },
  };
  const recipients = (authServer?: object) =>
    Object.fromEntries(
      [
        ...tokenRecipientsOf({ ...config, outgoingAuth: { ...config.outgoingAuth, backends }, authServer } as never),
      ].map(([provider, its]) => [provider, Object.fromEntries(its)]),
    );
  const named = {
    github: {
      injected: ['http://injected.example:8080'],
      exchanged: ['http://exchanged.example:8080', 'https://sts.example'],
    },
    okta: { role: ['http://role.example:8080'] },
  };
  assert.deepEqual(recipients({ upstreamProviders: [{ name: 'okta' }, { name: 'github' }] }), {
    ...named,
    okta: {
      ...named.okta,
      first: ['http://first.example:8080', 'https://sts.example'],
      'first-role': ['http://first-role.example:8080'],
    },
  });
  assert.deepEqual(recipients(), named);
});

const VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';
const kvstore = (more: object = {}, sessionStore?: object) => ({
  sessionStorage: { provider: 'kvstore', address: 'redis:6379', ...more },
  ...(sessionStore && { extensions: { sessionStore } }),
});
const BARE = {
  kind: 'redis',
  addresses: ['redis:6379'],
  db: 0,
  keyPrefix: 'vmcp:',
  username: undefined,
  password: { file: undefined, environment: VARIABLE },
  tls: undefined,
  sentinel: undefined,
  isCluster: false,
};

const STORES: readonly { readonly what: string; readonly file: object; readonly settings: object }[] = [
  { what: 'nothing', file: {}, settings: { kind: 'memory' } },
  { what: 'memory', file: { sessionStorage: { provider: 'memory', keyPrefix: 'a:' } }, settings: { kind: 'memory' } },
  { what: 'an address', file: kvstore(), settings: BARE },
  {
    what: 'a database and a prefix',
    file: kvstore({ db: 3, keyPrefix: '' }),
    settings: { ...BARE, db: 3, keyPrefix: '' },
  },
  {
    what: 'a user, a password and a certificate',
    file: kvstore({}, { username: 'vmcp', passwordFile: '/p', tls: { caFile: '/ca.crt' } }),
    settings: {
      ...BARE,
      username: 'vmcp',
      password: { file: '/p', environment: VARIABLE },
      tls: { caFile: '/ca.crt', insecureSkipVerify: false },
    },
  },
  {
    what: 'sentinels, whose password is in no variable',
    file: kvstore(
      {},
      {
        sentinel: {
          masterName: 'main',
          addresses: ['other:1'],
          username: 'watcher',
          passwordFile: '/s',
          tls: { insecureSkipVerify: true },
        },
      },
    ),
    settings: {
      ...BARE,
      addresses: ['redis:6379', 'other:1'],
      sentinel: {
        masterName: 'main',
        username: 'watcher',
        password: { file: '/s' },
        tls: { insecureSkipVerify: true },
      },
    },
  },
  {
    what: 'nodes of a cluster',
    file: kvstore({}, { cluster: { addresses: ['other:1'] } }),
    settings: { ...BARE, addresses: ['redis:6379', 'other:1'], isCluster: true },
  },
];

for (const { what, file, settings } of STORES) {
  test(`where sessions are kept: ${what}`, () => {
    assert.deepEqual(sessionStoreSettingsOf(accepted({ ...file })), settings);
  });
}
