import { casesOf } from '../case.ts';
import { EMPTY, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('MCPExternalAuthConfig');

const secret = { name: 'api', key: 'token' };
const role = 'arn:aws:iam::123456789012:role/tools/reader';

/** A complete block for every type that has one. */
const blocks = {
  tokenExchange: { tokenUrl: 'https://sts.example.com/token', audience: 'api' },
  headerInjection: { headerName: 'X-Api-Key', valueSecretRef: secret },
  bearerToken: { tokenSecretRef: secret },
  upstreamInject: { providerName: 'idp' },
  cloudSts: { region: 'us-east-1', fallbackRoleArn: role },
  embeddedAuthServer: {
    issuer: 'https://auth.example.com',
    upstreamProviders: [
      { name: 'idp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'a' } },
    ],
  },
} as const;
type Type = keyof typeof blocks;

const ids: Readonly<Record<Type, string>> = {
  tokenExchange: 'extauth.type.token-exchange-sibling',
  headerInjection: 'extauth.type.header-injection-sibling',
  bearerToken: 'extauth.type.bearer-token-sibling',
  upstreamInject: 'extauth.type.upstream-inject-sibling',
  cloudSts: 'extauth.type.cloud-sts-sibling',
  embeddedAuthServer: 'extauth.type.embedded-auth-server-sibling',
};
const types = Object.keys(blocks) as readonly Type[];

const whole = (spec: unknown) => ({ '': spec });
const block = (type: Type, changes: Readonly<Record<string, unknown>> = {}) =>
  whole({ type, [type]: { ...blocks[type], ...changes } });

export const externalAuthTypeCases = [
  refuses({ of: 'extauth.type.required', set: whole({}) }, 'spec.type', REQUIRED),
  accepts({
    of: ['extauth.type.unauthenticated-no-sibling', 'extauth.type.enum'],
    set: whole({ type: 'unauthenticated' }),
  }),
  ...['obo', 'basic'].map((type) =>
    refuses({ of: 'extauth.type.enum', set: whole({ type }) }, 'spec.type', 'Unsupported value'),
  ),
  ...types.flatMap((type) => [
    accepts({ of: ['extauth.type.enum', ids[type]], set: block(type) }),
    refuses({ of: ids[type], set: whole({ type }) }, 'spec', `type ${type} needs ${type}`),
    refuses(
      { of: ids[type], set: whole({ type: 'unauthenticated', [type]: blocks[type] }) },
      `spec.${type}`,
      `${type} is allowed only with type ${type}`,
    ),
  ]),
];

const exchange = (changes: Readonly<Record<string, unknown>>) => block('tokenExchange', changes);
const urn = 'urn:ietf:params:oauth:token-type:';

export const externalAuthBlockCases = [
  refuses(
    { of: 'extauth.token-exchange.token-url-required', set: exchange({ tokenUrl: undefined }) },
    'spec.tokenExchange.tokenUrl',
    REQUIRED,
  ),
  refuses(
    { of: 'extauth.token-exchange.audience-required', set: exchange({ audience: undefined }) },
    'spec.tokenExchange.audience',
    REQUIRED,
  ),
  accepts(
    { of: 'extauth.token-exchange.client-optional', set: exchange({}) },
    { 'tokenExchange.subjectTokenType': 'access_token' },
  ),
  ...[{ clientId: 'a' }, { clientId: 'a', clientSecretRef: secret }].map((client) =>
    accepts({ of: 'extauth.token-exchange.client-optional', set: exchange(client) }),
  ),
  ...['access_token', 'id_token', 'jwt', `${urn}access_token`, `${urn}id_token`, `${urn}jwt`].map((subjectTokenType) =>
    accepts({ of: 'extauth.token-exchange.subject-token-type-values', set: exchange({ subjectTokenType }) }),
  ),
  refuses(
    { of: 'extauth.token-exchange.subject-token-type-values', set: exchange({ subjectTokenType: 'saml2' }) },
    'spec.tokenExchange.subjectTokenType',
    'Unsupported value',
  ),
  accepts({ set: exchange({ clientId: 'gateway', clientSecretRef: secret, scopes: ['read', 'a:b/c'] }) }),
  refuses(
    { set: exchange({ clientSecretRef: secret }) },
    'spec.tokenExchange',
    'a client secret without clientId authenticates no client',
  ),
  refuses({ set: exchange({ clientId: '' }) }, 'spec.tokenExchange.clientId', EMPTY),
  ...['a b', '', 'a"b'].map((scope) =>
    refuses({ set: exchange({ scopes: ['read', scope] }) }, 'spec.tokenExchange.scopes[1]', 'should match'),
  ),
  refuses(
    { of: 'extauth.header-injection.name-required', set: block('headerInjection', { headerName: undefined }) },
    'spec.headerInjection.headerName',
    REQUIRED,
  ),
  refuses(
    { of: 'extauth.header-injection.name-required', set: block('headerInjection', { headerName: '' }) },
    'spec.headerInjection.headerName',
    EMPTY,
  ),
  refuses(
    { of: 'extauth.header-injection.value-required', set: block('headerInjection', { valueSecretRef: undefined }) },
    'spec.headerInjection.valueSecretRef',
    REQUIRED,
  ),
  refuses(
    { of: 'extauth.bearer-token.secret-required', set: block('bearerToken', { tokenSecretRef: undefined }) },
    'spec.bearerToken.tokenSecretRef',
    REQUIRED,
  ),
  refuses(
    { of: 'extauth.upstream-inject.provider-required', set: block('upstreamInject', { providerName: undefined }) },
    'spec.upstreamInject.providerName',
    REQUIRED,
  ),
  refuses(
    { of: 'extauth.upstream-inject.provider-required', set: block('upstreamInject', { providerName: '' }) },
    'spec.upstreamInject.providerName',
    EMPTY,
  ),
];

const sts = (changes: Readonly<Record<string, unknown>>) => block('cloudSts', changes);
const mapping = (changes: Readonly<Record<string, unknown>>) =>
  sts({ roleMappings: [{ roleArn: role, claim: 'admins', ...changes }] });
const MAPPING = 'spec.cloudSts.roleMappings[0]';

export const cloudStsCases = [
  accepts(
    { of: 'crd.naming.neutral-words', set: sts({}) },
    {
      'cloudSts.roleClaim': 'groups',
      'cloudSts.service': 'cloud-mcp',
      'cloudSts.sessionDuration': 3600,
      'cloudSts.sessionNameClaim': 'sub',
    },
  ),
  refuses(
    { of: 'extauth.cloud-sts.region-required', set: sts({ region: undefined }) },
    'spec.cloudSts.region',
    REQUIRED,
  ),
  accepts({ of: 'extauth.cloud-sts.region-pattern', set: sts({ region: 'us-east-1' }) }),
  ...['US-EAST-1', 'useast'].map((region) =>
    refuses({ of: 'extauth.cloud-sts.region-pattern', set: sts({ region }) }, 'spec.cloudSts.region', 'should match'),
  ),
  ...['arn:aws:iam::12345678901:role/tools', 'arn:aws:iam::123456789012:user/tools', 'tools'].flatMap((roleArn) => [
    refuses(
      { of: 'extauth.cloud-sts.fallback-role-format', set: sts({ fallbackRoleArn: roleArn }) },
      'spec.cloudSts.fallbackRoleArn',
      'should match',
    ),
    refuses(
      { of: 'extauth.role-mapping.role-format', set: mapping({ roleArn }) },
      `${MAPPING}.roleArn`,
      'should match',
    ),
  ]),
  refuses(
    { of: 'extauth.cloud-sts.role-or-mapping-required', set: sts({ fallbackRoleArn: undefined }) },
    'spec.cloudSts',
    'at least one of fallbackRoleArn and roleMappings must be set',
  ),
  refuses(
    {
      of: 'extauth.cloud-sts.role-or-mapping-required',
      set: sts({ fallbackRoleArn: undefined, roleMappings: [] }),
    },
    'spec.cloudSts',
    'at least one of fallbackRoleArn and roleMappings must be set',
  ),
  accepts({ of: 'extauth.cloud-sts.role-or-mapping-required', set: mapping({}) }),
  accepts({ of: 'extauth.cloud-sts.role-or-mapping-required', set: sts({ roleMappings: [] }) }),
  ...[900, 43_200].map((sessionDuration) =>
    accepts({ of: 'extauth.cloud-sts.duration-bounds', set: sts({ sessionDuration }) }),
  ),
  refuses(
    { of: 'extauth.cloud-sts.duration-bounds', set: sts({ sessionDuration: 899 }) },
    'spec.cloudSts.sessionDuration',
    '900',
  ),
  refuses(
    { of: 'extauth.cloud-sts.duration-bounds', set: sts({ sessionDuration: 43_201 }) },
    'spec.cloudSts.sessionDuration',
    '43200',
  ),
  refuses(
    { of: 'extauth.role-mapping.role-required', set: mapping({ roleArn: undefined }) },
    `${MAPPING}.roleArn`,
    REQUIRED,
  ),
  refuses({ of: 'extauth.role-mapping.claim-min-length', set: mapping({ claim: '' }) }, `${MAPPING}.claim`, EMPTY),
  refuses(
    { of: 'extauth.role-mapping.matcher-min-length', set: mapping({ claim: undefined, matcher: '' }) },
    `${MAPPING}.matcher`,
    EMPTY,
  ),
  accepts({
    of: 'extauth.role-mapping.claim-matcher-exclusive',
    set: mapping({ claim: undefined, matcher: '"admins" in claims.groups' }),
  }),
  refuses(
    { of: 'extauth.role-mapping.claim-matcher-exclusive', set: mapping({ matcher: 'true' }) },
    MAPPING,
    'exactly one of claim and matcher must be set',
  ),
  refuses({ set: mapping({ claim: undefined }) }, MAPPING, 'exactly one of claim and matcher must be set'),
  refuses(
    { of: 'extauth.role-mapping.priority-min', set: mapping({ priority: -1 }) },
    `${MAPPING}.priority`,
    'greater than or equal to 0',
  ),
];
