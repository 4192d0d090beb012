import {
  OAUTH2,
  OIDC,
  PROVIDER,
  accepts,
  dcr,
  identity,
  oauth2,
  oauth2Provider,
  oidc,
  oidcProvider,
  provider,
  refuses,
} from './auth-server-place.ts';
import { EMPTY, ENUM, PATTERN, REQUIRED } from './words.ts';

const managed = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'response_mode',
  'request',
  'request_uri',
];
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
  ...accepts([], oauth2({ additionalAuthorizationParams: { prompt: 'consent' } })),
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
