import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const set = (path: string, value: unknown) => ({ [`config.${path}`]: value });

const oidc = { issuer: 'https://login.example.com', audience: 'tools', clientId: 'tools' };
const incomingOidc = (changes: Readonly<Record<string, unknown>>) =>
  set('incomingAuth', { type: 'oidc', oidc: { ...oidc, ...changes } });
const OIDC = 'spec.config.incomingAuth.oidc';

export const configIncomingCases = [
  refuses(
    { of: 'crd.config.incoming-auth.type-required', set: set('incomingAuth', {}) },
    'spec.config.incomingAuth.type',
    REQUIRED,
  ),
  ...['local', 'anonymous'].map((type) =>
    accepts({ of: 'crd.config.incoming-auth.type-enum', set: set('incomingAuth', { type }) }),
  ),
  accepts({
    of: ['crd.config.incoming-auth.type-enum', 'crd.config.incoming-auth.authz-optional'],
    set: incomingOidc({}),
  }),
  refuses(
    { of: 'crd.config.incoming-auth.type-enum', set: set('incomingAuth', { type: 'basic' }) },
    'spec.config.incomingAuth.type',
    ENUM,
  ),
  refuses({ set: set('incomingAuth', { type: 'oidc' }) }, 'spec.config.incomingAuth', 'type oidc needs oidc'),
  refuses(
    { of: 'crd.config.incoming-auth.authz-type-required', set: set('incomingAuth', { type: 'anonymous', authz: {} }) },
    'spec.config.incomingAuth.authz.type',
    REQUIRED,
  ),
  accepts({
    of: 'crd.config.incoming-auth.authz-type-enum',
    set: set('incomingAuth', { type: 'anonymous', authz: { type: 'none' } }),
  }),
  accepts({
    of: 'crd.config.incoming-auth.authz-type-enum',
    set: set('incomingAuth', { type: 'anonymous', authz: { type: 'cedar', policies: [] } }),
  }),
  refuses(
    {
      of: 'crd.config.incoming-auth.authz-type-enum',
      set: set('incomingAuth', { type: 'anonymous', authz: { type: 'opa' } }),
    },
    'spec.config.incomingAuth.authz.type',
    ENUM,
  ),
  refuses(
    { of: 'crd.config.oidc.audience-required', set: incomingOidc({ audience: undefined }) },
    `${OIDC}.audience`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.oidc.client-id-required', set: incomingOidc({ clientId: undefined }) },
    `${OIDC}.clientId`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.oidc.issuer-required', set: incomingOidc({ issuer: undefined }) },
    `${OIDC}.issuer`,
    REQUIRED,
  ),
  accepts({ of: 'crd.config.oidc.issuer-scheme', set: incomingOidc({ issuer: 'http://login.example.com' }) }),
  refuses(
    { of: 'crd.config.oidc.issuer-scheme', set: incomingOidc({ issuer: 'login.example.com' }) },
    `${OIDC}.issuer`,
    'should match',
  ),
  accepts({
    of: 'crd.config.oidc.protected-resource-allow-private-ip',
    set: incomingOidc({ protectedResourceAllowPrivateIp: true }),
  }),
  refuses(
    {
      of: 'crd.config.oidc.protected-resource-allow-private-ip',
      set: incomingOidc({ protectedResourceAllowPrivateIp: 'yes' }),
    },
    `${OIDC}.protectedResourceAllowPrivateIp`,
    'boolean',
  ),
];

const strategy = (value: unknown) => set('outgoingAuth', { source: 'inline', default: value });
const header = (headerInjection: unknown) => strategy({ type: 'header_injection', headerInjection });
const exchange = (tokenExchange: unknown) => strategy({ type: 'token_exchange', tokenExchange });
const sts = (cloudSts: unknown) => strategy({ type: 'cloud_sts', cloudSts });
const DEFAULT = 'spec.config.outgoingAuth.default';
const role = 'arn:aws:iam::123456789012:role/tools';

export const strategyCases = [
  refuses(
    { of: 'crd.config.outgoing-auth.source-required', set: set('outgoingAuth', {}) },
    'spec.config.outgoingAuth.source',
    REQUIRED,
  ),
  ...['inline', 'discovered'].map((source) =>
    accepts({ of: 'crd.config.outgoing-auth.source-enum', set: set('outgoingAuth', { source }) }),
  ),
  refuses(
    { of: 'crd.config.outgoing-auth.source-enum', set: set('outgoingAuth', { source: 'mixed' }) },
    'spec.config.outgoingAuth.source',
    ENUM,
  ),
  refuses({ of: 'crd.config.strategy.type-required', set: strategy({}) }, `${DEFAULT}.type`, REQUIRED),
  accepts({ of: 'crd.config.strategy.type-enum', set: strategy({ type: 'unauthenticated' }) }),
  accepts({ of: 'crd.config.strategy.type-enum', set: header({ headerName: 'X-Key', headerValueEnv: 'KEY' }) }),
  accepts({ of: 'crd.config.strategy.type-enum', set: exchange({ tokenUrl: 'https://sts.example.com/token' }) }),
  accepts({
    of: 'crd.config.strategy.type-enum',
    set: strategy({ type: 'upstream_inject', upstreamInject: { providerName: 'idp' } }),
  }),
  accepts({ of: 'crd.config.strategy.type-enum', set: sts({ region: 'us-east-1', fallbackRoleArn: role }) }),
  accepts({
    of: ['crd.config.strategy.type-enum', 'crd.config.strategy.obo-accepted'],
    set: strategy({ type: 'obo' }),
  }),
  ...['bearer_token', 'magic'].map((type) =>
    refuses({ of: 'crd.config.strategy.type-enum', set: strategy({ type }) }, `${DEFAULT}.type`, ENUM),
  ),
  refuses(
    { of: 'crd.config.header-injection.name-required', set: header({ headerValueEnv: 'KEY' }) },
    `${DEFAULT}.headerInjection.headerName`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.header-injection.value-exclusive',
      set: header({ headerName: 'X-Key', headerValue: 'a', headerValueEnv: 'KEY' }),
    },
    `${DEFAULT}.headerInjection`,
    'exactly one of headerValue and headerValueEnv must be set',
  ),
  accepts({ set: header({ headerName: 'X-Key', headerValue: 'a' }) }),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', clientId: 'a', clientSecret: 'a' }) },
    `${DEFAULT}.tokenExchange.clientSecret`,
    'clientSecret would put a secret into the resource',
  ),
  ...[
    { clientId: 'gateway', clientSecretEnv: 'SECRET', subjectTokenType: 'jwt' },
    { clientId: 'public', scopes: ['read'], subjectTokenType: 'urn:ietf:params:oauth:token-type:saml2' },
  ].map((more) => accepts({ set: exchange({ tokenUrl: 'https://sts.example.com/token', ...more }) })),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', clientSecretEnv: 'SECRET' }) },
    `${DEFAULT}.tokenExchange`,
    'a client secret without clientId authenticates no client',
  ),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', clientId: '' }) },
    `${DEFAULT}.tokenExchange.clientId`,
    EMPTY,
  ),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', subjectTokenType: 'acess_token' }) },
    `${DEFAULT}.tokenExchange.subjectTokenType`,
    'should match',
  ),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', scopes: ['a b'] }) },
    `${DEFAULT}.tokenExchange.scopes[0]`,
    'should match',
  ),
  refuses(
    { of: 'crd.config.token-exchange.token-url-required', set: exchange({}) },
    `${DEFAULT}.tokenExchange.tokenUrl`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.upstream-inject.provider-name-required',
      set: strategy({ type: 'upstream_inject', upstreamInject: {} }),
    },
    `${DEFAULT}.upstreamInject.providerName`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.cloud-sts.region-required', set: sts({ fallbackRoleArn: role }) },
    `${DEFAULT}.cloudSts.region`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.cloud-sts.role-mapping-arn-required',
      set: sts({ region: 'us-east-1', roleMappings: [{ claim: 'a' }] }),
    },
    `${DEFAULT}.cloudSts.roleMappings[0].roleArn`,
    REQUIRED,
  ),
  ...[{}, { roleMappings: [] }].map((roles) =>
    refuses(
      { set: sts({ region: 'us-east-1', ...roles }) },
      `${DEFAULT}.cloudSts`,
      'at least one of fallbackRoleArn and roleMappings must be set',
    ),
  ),
  refuses({ set: strategy({ type: 'header_injection' }) }, DEFAULT, 'type header_injection needs headerInjection'),
  refuses(
    { set: strategy({ type: 'unauthenticated', upstreamInject: { providerName: 'idp' } }) },
    `${DEFAULT}.upstreamInject`,
    'upstreamInject is allowed only with type upstream_inject',
  ),
];
