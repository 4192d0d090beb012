import { casesOf } from '../case.ts';
import type { Fields } from './auth-server-place.ts';
import { accepts, places, refuses, smallest } from './auth-server-place.ts';
import { ENUM, PATTERN, REQUIRED } from './words.ts';

const secret = { name: 'store', key: 'password' };

const urlCases = (
  field: string,
  ids: Readonly<Record<'scheme' | 'query' | 'fragment' | 'slash', readonly string[]>>,
) => [
  ...['ftp://auth.example.com', 'auth.example.com', 'http://auth.example.com'].flatMap((url) =>
    refuses(ids.scheme, { [field]: url }, field, PATTERN),
  ),
  ...refuses(ids.query, { [field]: 'https://auth.example.com/?a=b' }, field, PATTERN),
  ...refuses(ids.fragment, { [field]: 'https://auth.example.com/#x' }, field, PATTERN),
  ...refuses(ids.slash, { [field]: 'https://auth.example.com/' }, field, PATTERN),
  ...accepts([], { [field]: 'https://auth.example.com/tenant' }),
];

export const authServerCases = [
  ...accepts([], {}),
  ...refuses(['authserver.issuer.required'], { issuer: undefined }, 'issuer', REQUIRED),
  ...urlCases('issuer', {
    scheme: ['authserver.issuer.url-scheme', 'authserver.issuer.http-non-localhost-rejected'],
    query: ['authserver.issuer.no-query'],
    fragment: ['authserver.issuer.no-fragment'],
    slash: ['authserver.issuer.no-trailing-slash'],
  }),
  ...accepts(['authserver.issuer.http-localhost-accepted'], { issuer: 'http://localhost:8080' }),
  ...urlCases('authorizationEndpointBaseUrl', {
    scheme: ['authserver.authz-base-url.url-scheme'],
    query: ['authserver.authz-base-url.no-query'],
    fragment: ['authserver.authz-base-url.no-fragment'],
    slash: ['authserver.authz-base-url.no-trailing-slash'],
  }),
  ...accepts(
    [],
    { tokenLifespans: {}, storage: {} },
    {
      'tokenLifespans.accessTokenLifespan': '1h',
      'tokenLifespans.authCodeLifespan': '10m',
      'tokenLifespans.refreshTokenLifespan': '168h',
      'storage.type': 'memory',
    },
  ),
  ...accepts([], { signingKeySecretRefs: [secret, { ...secret, key: 'old' }], hmacSecretRefs: [secret] }),
  ...refuses(['crd.secretref.key-required'], { hmacSecretRefs: [{ name: 'a' }] }, 'hmacSecretRefs[0].key', REQUIRED),
  ...refuses(
    ['crd.secretref.name-required'],
    { signingKeySecretRefs: [{ key: 'a' }] },
    'signingKeySecretRefs[0].name',
    REQUIRED,
  ),
];

const kvstore = { aclUserConfig: { passwordSecretRef: secret }, addr: 'valkey:6379' };
const sentinelConfig = { masterName: 'main', sentinelAddrs: ['sentinel:26379'] };
const store = (changes: Fields) => ({ storage: { type: 'kvstore', kvstore: { ...kvstore, ...changes } } });
const sentinel = (changes: Fields, more: Fields = {}) =>
  store({ addr: undefined, sentinelConfig: { ...sentinelConfig, ...changes }, ...more });
const KV = 'storage.kvstore';

export const storageCases = [
  ...accepts(['authserver.storage.type-enum', 'crd.naming.neutral-words'], store({}), {
    'storage.kvstore.dialTimeout': '5s',
    'storage.kvstore.readTimeout': '3s',
    'storage.kvstore.writeTimeout': '3s',
  }),
  ...accepts(['authserver.storage.type-enum'], { storage: { type: 'memory' } }),
  ...refuses(['authserver.storage.type-enum'], { storage: { type: 'redis' } }, 'storage.type', ENUM),
  ...refuses(
    ['authserver.storage.kvstore-object-required'],
    { storage: { type: 'kvstore' } },
    'storage',
    'type kvstore needs kvstore',
  ),
  ...refuses(['authserver.kvstore.acl-required'], store({ aclUserConfig: undefined }), `${KV}.aclUserConfig`, REQUIRED),
  ...refuses(
    ['authserver.kvstore.password-required'],
    store({ aclUserConfig: {} }),
    `${KV}.aclUserConfig.passwordSecretRef`,
    REQUIRED,
  ),
  ...refuses(['authserver.kvstore.addr-format'], store({ addr: 'valkey' }), `${KV}.addr`, PATTERN),
  ...refuses(
    ['authserver.kvstore.addr-sentinel-exclusive'],
    store({ sentinelConfig }),
    KV,
    'exactly one of addr and sentinelConfig must be set',
  ),
  ...refuses([], store({ addr: undefined }), KV, 'exactly one of addr and sentinelConfig must be set'),
  ...accepts([], store({ clusterMode: true })),
  ...accepts([], sentinel({}, { sentinelTls: {} })),
  ...refuses([], store({ sentinelTls: {} }), `${KV}.sentinelTls`, 'sentinelTls needs sentinelConfig'),
  ...refuses(
    ['authserver.kvstore.cluster-needs-addr'],
    store({ addr: undefined, sentinelConfig, clusterMode: true }),
    `${KV}.clusterMode`,
    'clusterMode needs addr',
  ),
  ...accepts([], sentinel({}), { 'storage.kvstore.sentinelConfig.db': 0 }),
  ...refuses(
    ['authserver.kvstore.sentinel-master-required'],
    sentinel({ masterName: undefined }),
    `${KV}.sentinelConfig.masterName`,
    REQUIRED,
  ),
  ...refuses([], sentinel({ sentinelAddrs: ['sentinel'] }), `${KV}.sentinelConfig.sentinelAddrs[0]`, PATTERN),
  ...refuses(
    ['authserver.kvstore.sentinel-addrs-service-exclusive'],
    sentinel({ sentinelService: { name: 'sentinel' } }),
    `${KV}.sentinelConfig`,
    'exactly one of sentinelAddrs and sentinelService must be set',
  ),
  ...accepts([], sentinel({ sentinelAddrs: undefined, sentinelService: { name: 'sentinel' } }), {
    'storage.kvstore.sentinelConfig.sentinelService.port': 26_379,
  }),
  ...refuses(
    ['authserver.kvstore.sentinel-service-name-required'],
    sentinel({ sentinelAddrs: undefined, sentinelService: {} }),
    `${KV}.sentinelConfig.sentinelService.name`,
    REQUIRED,
  ),
];

const server = casesOf('VirtualMCPServer');

export const placementCases = [
  server.accepts({ of: 'crd.vmcp.auth-server-config.optional' }, { authServerConfig: undefined }),
  server.accepts({ of: 'crd.vmcp.auth-server-config.optional', set: places[0].around(smallest) }),
  server.refuses(
    { set: { authServerConfig: smallest } },
    'spec.authServerConfig',
    'set incomingAuth.type: oidc with an oidcConfigRef',
  ),
];
