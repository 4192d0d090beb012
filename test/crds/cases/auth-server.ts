import type { Case } from '../case.ts';
import { casesOf } from '../case.ts';

const REQUIRED = 'Required value';
const ENUM = 'Unsupported value';
const PATTERN = 'should match';
const EMPTY = 'should be at least 1 chars long';

/** The two places that hold an EmbeddedAuthServerConfig; each case is tried in both. */
const places = [
  {
    kind: 'VirtualMCPServer',
    path: 'authServerConfig',
    around: (config: unknown) => ({
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } },
      authServerConfig: config,
    }),
  },
  {
    kind: 'MCPExternalAuthConfig',
    path: 'embeddedAuthServer',
    around: (config: unknown) => ({ '': { type: 'embeddedAuthServer', embeddedAuthServer: config } }),
  },
] as const;

type Fields = Readonly<Record<string, unknown>>;

const oidcProvider = {
  name: 'idp',
  type: 'oidc',
  oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'vmcp' },
};
const endpoints = {
  authorizationEndpoint: 'https://git.example.com/authorize',
  tokenEndpoint: 'https://git.example.com/token',
};
const oauth2Provider = { name: 'git', type: 'oauth2', oauth2Config: { ...endpoints, clientId: 'vmcp' } };
const smallest = { issuer: 'https://auth.example.com', upstreamProviders: [oidcProvider] };

const SHAPE = 'authserver.shared-shape';

const accepts = (of: readonly string[], changes: Fields, stored: Fields = {}): readonly Case[] =>
  places.map(({ kind, path, around }) =>
    casesOf(kind).accepts(
      { of: [SHAPE, ...of], set: around({ ...smallest, ...changes }) },
      Object.fromEntries(Object.entries(stored).map(([key, value]) => [`${path}.${key}`, value])),
    ),
  );

const refuses = (of: readonly string[], changes: Fields, at: string, words: string): readonly Case[] =>
  places.map(({ kind, path, around }) =>
    casesOf(kind).refuses(
      { of: [SHAPE, ...of], set: around({ ...smallest, ...changes }) },
      at === '' ? `spec.${path}` : `spec.${path}.${at}`,
      words,
    ),
  );

const provider = (changes: Fields) => ({ upstreamProviders: [{ ...oidcProvider, ...changes }] });
const oidc = (changes: Fields) => provider({ oidcConfig: { ...oidcProvider.oidcConfig, ...changes } });
const oauth2 = (changes: Fields) => ({
  upstreamProviders: [{ ...oauth2Provider, oauth2Config: { ...oauth2Provider.oauth2Config, ...changes } }],
});
const dcr = (dcrConfig: Fields, changes: Fields = {}) => oauth2({ clientId: undefined, dcrConfig, ...changes });
const identity = (changes: Fields) => oauth2({ identityFromToken: { subjectPath: 'user.id', ...changes } });

const PROVIDER = 'upstreamProviders[0]';
const OIDC = `${PROVIDER}.oidcConfig`;
const OAUTH2 = `${PROVIDER}.oauth2Config`;
const DCR = `${OAUTH2}.dcrConfig`;
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
const sentinel = (changes: Fields) => store({ addr: undefined, sentinelConfig: { ...sentinelConfig, ...changes } });
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

const managed = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'nonce',
];
const longUrl = (length: number) => `https://idp.example.com/${'a'.repeat(length - 'https://idp.example.com/'.length)}`;

export const upstreamCases = [
  ...refuses(['authserver.upstreams.required'], { upstreamProviders: undefined }, 'upstreamProviders', REQUIRED),
  ...refuses([], { upstreamProviders: [] }, 'upstreamProviders', 'should have at least 1 items'),
  ...accepts([], { upstreamProviders: [oidcProvider, oauth2Provider] }),
  ...refuses(['authserver.upstream.name-required'], provider({ name: undefined }), `${PROVIDER}.name`, REQUIRED),
  ...['Idp', '-idp', 'idp-'].flatMap((name) =>
    refuses(['authserver.upstream.name-pattern'], provider({ name }), `${PROVIDER}.name`, PATTERN),
  ),
  ...accepts(['authserver.upstream.name-length'], provider({ name: 'a'.repeat(63) })),
  ...refuses(
    ['authserver.upstream.name-length'],
    provider({ name: 'a'.repeat(64) }),
    `${PROVIDER}.name`,
    'more than 63',
  ),
  ...refuses(['authserver.upstream.name-length'], provider({ name: '' }), `${PROVIDER}.name`, EMPTY),
  ...refuses(
    ['authserver.upstream.name-unique'],
    { upstreamProviders: [oidcProvider, oidcProvider] },
    'upstreamProviders[1]',
    'Duplicate value',
  ),
  ...refuses(['authserver.upstream.type-required'], provider({ type: undefined }), `${PROVIDER}.type`, REQUIRED),
  ...refuses(['authserver.upstream.type-enum'], provider({ type: 'saml' }), `${PROVIDER}.type`, ENUM),
  ...refuses(
    ['authserver.upstream.oidc-config-required'],
    provider({ oidcConfig: undefined }),
    PROVIDER,
    'type oidc needs oidcConfig',
  ),
  ...refuses(
    ['authserver.upstream.oidc-config-forbidden'],
    { upstreamProviders: [{ ...oauth2Provider, oidcConfig: oidcProvider.oidcConfig }] },
    OIDC,
    'oidcConfig is allowed only with type oidc',
  ),
  ...refuses(
    ['authserver.upstream.oauth2-config-required'],
    { upstreamProviders: [{ name: 'git', type: 'oauth2' }] },
    PROVIDER,
    'type oauth2 needs oauth2Config',
  ),
  ...refuses(
    ['authserver.upstream.oauth2-config-forbidden'],
    provider({ oauth2Config: oauth2Provider.oauth2Config }),
    OAUTH2,
    'oauth2Config is allowed only with type oauth2',
  ),
  ...accepts([], oidc({}), { 'upstreamProviders[0].oidcConfig.scopes': ['openid', 'offline_access'] }),
  ...refuses(
    ['authserver.upstream.oidc.issuer-required'],
    oidc({ issuerUrl: undefined }),
    `${OIDC}.issuerUrl`,
    REQUIRED,
  ),
  ...refuses(
    ['authserver.upstream.oidc.issuer-https'],
    oidc({ issuerUrl: 'http://idp.example.com' }),
    `${OIDC}.issuerUrl`,
    PATTERN,
  ),
  ...refuses([], oidc({ clientId: undefined }), `${OIDC}.clientId`, REQUIRED),
  ...accepts([], oidc({ additionalAuthorizationParams: { prompt: 'consent' } })),
  ...managed.flatMap((parameter) => [
    ...refuses(
      ['authserver.upstream.oidc.extra-params-reserved'],
      oidc({ additionalAuthorizationParams: { [parameter]: 'x' } }),
      `${OIDC}.additionalAuthorizationParams`,
      'are set by the server; remove them',
    ),
    ...refuses(
      ['authserver.upstream.oauth2.extra-params-reserved'],
      oauth2({ additionalAuthorizationParams: { [parameter]: 'x' } }),
      `${OAUTH2}.additionalAuthorizationParams`,
      'are set by the server; remove them',
    ),
  ]),
];

export const oauth2Cases = [
  ...accepts([], oauth2({})),
  ...refuses(
    ['authserver.upstream.oauth2.authorization-endpoint-required'],
    oauth2({ authorizationEndpoint: undefined }),
    OAUTH2,
    'authorizationEndpoint is required',
  ),
  ...refuses(
    ['authserver.upstream.oauth2.token-endpoint-required'],
    oauth2({ tokenEndpoint: undefined }),
    OAUTH2,
    'tokenEndpoint is required',
  ),
  ...accepts(
    [
      'authserver.upstream.oauth2.authorization-endpoint-required',
      'authserver.upstream.oauth2.token-endpoint-required',
    ],
    dcr(
      { discoveryUrl: 'https://git.example.com/metadata' },
      { authorizationEndpoint: undefined, tokenEndpoint: undefined },
    ),
  ),
  ...refuses([], oauth2({ authorizationEndpoint: 'git.example.com' }), `${OAUTH2}.authorizationEndpoint`, PATTERN),
  ...refuses([], oauth2({ tokenEndpoint: 'git.example.com' }), `${OAUTH2}.tokenEndpoint`, PATTERN),
  ...refuses(
    ['authserver.upstream.oauth2.client-id-dcr-exclusive'],
    dcr({ discoveryUrl: 'https://git.example.com/metadata' }, { clientId: 'vmcp' }),
    OAUTH2,
    'exactly one of clientId and dcrConfig must be set',
  ),
  ...accepts(
    ['authserver.upstream.oauth2.client-id-dcr-exclusive'],
    dcr({ discoveryUrl: 'https://git.example.com/metadata' }, { clientId: '' }),
  ),
  ...refuses([], oauth2({ clientId: undefined }), OAUTH2, 'exactly one of clientId and dcrConfig must be set'),
  ...refuses(
    ['authserver.upstream.userinfo.endpoint-required'],
    oauth2({ userInfo: {} }),
    `${OAUTH2}.userInfo.endpointUrl`,
    REQUIRED,
  ),
  ...refuses(
    ['authserver.upstream.userinfo.endpoint-url'],
    oauth2({ userInfo: { endpointUrl: 'ftp://git.example.com' } }),
    `${OAUTH2}.userInfo.endpointUrl`,
    PATTERN,
  ),
  ...accepts([], oauth2({ userInfo: { endpointUrl: 'https://git.example.com/user', fieldMapping: {} } }), {
    'upstreamProviders[0].oauth2Config.userInfo.httpMethod': 'GET',
    'upstreamProviders[0].oauth2Config.userInfo.fieldMapping.subjectFields': ['sub'],
  }),
  ...['GET', 'POST'].flatMap((httpMethod) =>
    accepts(
      ['authserver.upstream.userinfo.method-enum'],
      oauth2({ userInfo: { endpointUrl: 'https://git.example.com', httpMethod } }),
    ),
  ),
  ...refuses(
    ['authserver.upstream.userinfo.method-enum'],
    oauth2({ userInfo: { endpointUrl: 'https://git.example.com', httpMethod: 'PUT' } }),
    `${OAUTH2}.userInfo.httpMethod`,
    ENUM,
  ),
  ...refuses(
    ['authserver.upstream.identity-from-token.subject-required'],
    oauth2({ identityFromToken: {} }),
    `${OAUTH2}.identityFromToken.subjectPath`,
    REQUIRED,
  ),
  ...(['subject', 'name', 'email'] as const).flatMap((field) => [
    ...refuses(
      [`authserver.upstream.identity-from-token.${field}-length`],
      identity({ [`${field}Path`]: '' }),
      `${OAUTH2}.identityFromToken.${field}Path`,
      EMPTY,
    ),
    ...refuses(
      [`authserver.upstream.identity-from-token.${field}-length`],
      identity({ [`${field}Path`]: 'a'.repeat(257) }),
      `${OAUTH2}.identityFromToken.${field}Path`,
      'more than 256',
    ),
    ...accepts(
      [`authserver.upstream.identity-from-token.${field}-length`],
      identity({ [`${field}Path`]: 'a'.repeat(256) }),
    ),
  ]),
  ...accepts(
    ['authserver.upstream.identity-from-token.name-length', 'authserver.upstream.identity-from-token.email-length'],
    identity({}),
  ),
  ...refuses(
    ['authserver.upstream.token-mapping.access-required'],
    oauth2({ tokenResponseMapping: {} }),
    `${OAUTH2}.tokenResponseMapping.accessTokenPath`,
    REQUIRED,
  ),
  ...refuses(
    ['authserver.upstream.token-mapping.access-required'],
    oauth2({ tokenResponseMapping: { accessTokenPath: '' } }),
    `${OAUTH2}.tokenResponseMapping.accessTokenPath`,
    EMPTY,
  ),
  ...accepts([], oauth2({ tokenResponseMapping: { accessTokenPath: 'token' } }), {
    'upstreamProviders[0].oauth2Config.tokenResponseMapping.refreshTokenPath': 'refresh_token',
    'upstreamProviders[0].oauth2Config.tokenResponseMapping.expiresInPath': 'expires_in',
  }),
];

const discovery = 'https://git.example.com/metadata';
const registration = { registrationEndpoint: 'https://git.example.com/register' };

export const registrationCases = [
  ...accepts([], dcr(registration, { scopes: ['read'] })),
  ...refuses(
    ['authserver.upstream.dcr.discovery-https'],
    dcr({ discoveryUrl: 'http://git.example.com' }),
    `${DCR}.discoveryUrl`,
    PATTERN,
  ),
  ...accepts(['authserver.upstream.dcr.discovery-max-length'], dcr({ discoveryUrl: longUrl(2048) })),
  ...refuses(
    ['authserver.upstream.dcr.discovery-max-length'],
    dcr({ discoveryUrl: longUrl(2049) }),
    `${DCR}.discoveryUrl`,
    'more than 2048',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-https'],
    dcr({ registrationEndpoint: 'http://git.example.com' }, { scopes: ['read'] }),
    `${DCR}.registrationEndpoint`,
    PATTERN,
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-max-length'],
    dcr({ registrationEndpoint: longUrl(2049) }, { scopes: ['read'] }),
    `${DCR}.registrationEndpoint`,
    'more than 2048',
  ),
  ...accepts(
    ['authserver.upstream.dcr.registration-max-length'],
    dcr({ registrationEndpoint: longUrl(2048) }, { scopes: ['read'] }),
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-authorization-endpoint'],
    dcr(registration, { scopes: ['read'], authorizationEndpoint: undefined }),
    OAUTH2,
    'authorizationEndpoint is required',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-token-endpoint'],
    dcr(registration, { scopes: ['read'], tokenEndpoint: undefined }),
    OAUTH2,
    'tokenEndpoint is required',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-scopes'],
    dcr(registration),
    OAUTH2,
    'dcrConfig.registrationEndpoint needs scopes',
  ),
  ...refuses(
    ['authserver.upstream.dcr.discovery-registration-exclusive'],
    dcr({ ...registration, discoveryUrl: discovery }, { scopes: ['read'] }),
    DCR,
    'exactly one of discoveryUrl and registrationEndpoint must be set',
  ),
  ...refuses([], dcr({}), DCR, 'exactly one of discoveryUrl and registrationEndpoint must be set'),
  ...accepts(
    ['authserver.upstream.dcr.software-id-max-length'],
    dcr({ discoveryUrl: discovery, softwareId: 'a'.repeat(255) }),
  ),
  ...refuses(
    ['authserver.upstream.dcr.software-id-max-length'],
    dcr({ discoveryUrl: discovery, softwareId: 'a'.repeat(256) }),
    `${DCR}.softwareId`,
    'more than 255',
  ),
  ...accepts(
    ['authserver.upstream.dcr.software-statement-max-length', 'authserver.upstream.dcr.software-statement-inline'],
    dcr({ discoveryUrl: discovery, softwareStatement: 'a'.repeat(16_384) }),
    { 'upstreamProviders[0].oauth2Config.dcrConfig.softwareStatement': 'a'.repeat(16_384) },
  ),
  ...refuses(
    ['authserver.upstream.dcr.software-statement-max-length'],
    dcr({ discoveryUrl: discovery, softwareStatement: 'a'.repeat(16_385) }),
    `${DCR}.softwareStatement`,
    'more than 16384',
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
