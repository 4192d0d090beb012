import { casesOf } from '../case.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const REQUIRED = 'Required value';
const ENUM = 'Unsupported value';
const EMPTY = 'should be at least 1 chars long';
const oidc = { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } };
const store = { provider: 'kvstore', address: 'valkey:6379' };
const secret = { name: 'store', key: 'password' };

export const serverCases = [
  accepts({}, { replicas: undefined, serviceType: 'ClusterIP', sessionAffinity: 'ClientIP', config: undefined }),
  refuses({ of: 'crd.vmcp.spec-required', set: { '': undefined } }, 'spec', REQUIRED),
  refuses({ of: 'crd.vmcp.group-ref.required', set: { groupRef: undefined } }, 'spec.groupRef', REQUIRED),
  refuses({ of: 'crd.vmcp.group-ref.name-required', set: { groupRef: {} } }, 'spec.groupRef.name', REQUIRED),
  refuses({ of: 'crd.vmcp.group-ref.name-min-length', set: { 'groupRef.name': '' } }, 'spec.groupRef.name', EMPTY),
  refuses({ of: 'crd.vmcp.incoming-auth.required', set: { incomingAuth: undefined } }, 'spec.incomingAuth', REQUIRED),
  accepts({ of: 'crd.vmcp.outgoing-auth.optional' }, { outgoingAuth: undefined }),
  accepts(
    { of: ['crd.vmcp.config.optional', 'crd.vmcp.config.audit-not-required'], set: { config: {} } },
    { config: {} },
  ),
  accepts({ of: 'crd.vmcp.embedding-server-ref.optional' }, { embeddingServerRef: undefined }),
  refuses(
    { of: 'crd.vmcp.embedding-server-ref.name-required', set: { embeddingServerRef: {} } },
    'spec.embeddingServerRef.name',
    REQUIRED,
  ),
  accepts(
    { of: 'crd.vmcp.image-pull-secrets.shape', set: { imagePullSecrets: [{ name: 'registry' }] } },
    { 'imagePullSecrets[0].name': 'registry' },
  ),
  accepts(
    { of: 'crd.vmcp.image-pull-secrets.name-default-empty', set: { imagePullSecrets: [{}] } },
    { 'imagePullSecrets[0].name': '' },
  ),
  accepts(
    {
      of: 'crd.vmcp.pod-template-spec.free-form',
      set: { podTemplateSpec: { spec: { containers: [{ name: 'vmcp', anything: { at: ['all', 1] } }] } } },
    },
    { 'podTemplateSpec.spec.containers[0].anything.at': ['all', 1] },
  ),
  refuses({ set: { podTemplateSpec: 'a text' } }, 'spec.podTemplateSpec', 'must be of type object'),
  accepts({ of: 'crd.vmcp.replicas.optional' }, { replicas: undefined }),
  accepts({ of: 'crd.vmcp.replicas.min', set: { replicas: 0 } }, { replicas: 0 }),
  refuses(
    { of: 'crd.vmcp.replicas.min', set: { replicas: -1 } },
    'spec.replicas',
    'should be greater than or equal to 0',
  ),
  refuses({ of: 'crd.vmcp.replicas.int32', set: { replicas: 2_147_483_648 } }, 'spec.replicas', 'int32'),
  refuses({ of: 'crd.vmcp.replicas.int32', set: { replicas: 1.5 } }, 'spec.replicas', 'int32'),
  accepts({ of: 'crd.vmcp.service-account.optional', set: { serviceAccount: 'mine' } }, { serviceAccount: 'mine' }),
  accepts({ of: 'crd.vmcp.service-account.optional' }, { serviceAccount: undefined }),
  accepts({ of: 'crd.vmcp.service-type.default' }, { serviceType: 'ClusterIP' }),
  accepts({ of: 'crd.vmcp.service-type.enum', set: { serviceType: 'NodePort' } }),
  accepts({ of: 'crd.vmcp.service-type.enum', set: { serviceType: 'LoadBalancer' } }),
  refuses({ of: 'crd.vmcp.service-type.enum', set: { serviceType: 'ExternalName' } }, 'spec.serviceType', ENUM),
  accepts({ of: 'crd.vmcp.session-affinity.default' }, { sessionAffinity: 'ClientIP' }),
  accepts({ of: 'crd.vmcp.session-affinity.enum', set: { sessionAffinity: 'None' } }, { sessionAffinity: 'None' }),
  refuses({ of: 'crd.vmcp.session-affinity.enum', set: { sessionAffinity: 'Cookie' } }, 'spec.sessionAffinity', ENUM),
  accepts({ of: 'crd.vmcp.telemetry-config-ref.optional' }, { telemetryConfigRef: undefined }),
  accepts({ set: { telemetryConfigRef: { name: 'otel', serviceName: 'mine' } } }),
  refuses(
    { of: 'crd.vmcp.telemetry-config-ref.name-required', set: { telemetryConfigRef: {} } },
    'spec.telemetryConfigRef.name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.telemetry-config-ref.name-min-length', set: { 'telemetryConfigRef.name': '' } },
    'spec.telemetryConfigRef.name',
    EMPTY,
  ),
  refuses(
    { of: 'crd.ref.no-namespace-field', set: { 'groupRef.namespace': 'elsewhere' } },
    'spec.groupRef.namespace',
    'unknown field',
  ),
  refuses(
    {
      of: 'crd.ref.no-namespace-field',
      set: { incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, namespace: 'x' } } },
    },
    'spec.incomingAuth.oidcConfigRef.namespace',
    'unknown field',
  ),
  refuses({ set: { unheardOf: 1 } }, 'spec.unheardOf', 'unknown field'),
  refuses({ set: { 'config.unheardOf': 1 } }, 'spec.config.unheardOf', 'unknown field'),
  accepts({ name: 'a'.repeat(40) }),
  refuses({ name: 'a'.repeat(41) }, 'metadata.name', 'use at most 40 lower-case letters'),
  refuses({ name: '1st' }, 'metadata.name', 'beginning with a letter'),
  refuses({ name: 'with.dot' }, 'metadata.name', 'use at most 40 lower-case letters'),
];

export const incomingAuthCases = [
  refuses(
    { of: 'crd.vmcp.incoming-auth.type-required', set: { incomingAuth: {} } },
    'spec.incomingAuth.type',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.incoming-auth.type-enum', set: { incomingAuth: { type: 'local' } } },
    'spec.incomingAuth.type',
    ENUM,
  ),
  accepts(
    { of: 'crd.vmcp.incoming-auth.type-enum', set: { incomingAuth: oidc } },
    { 'incomingAuth.oidcConfigRef.scopes': ['openid'] },
  ),
  refuses(
    { of: 'crd.vmcp.oidc-config-ref.required-for-oidc', set: { incomingAuth: { type: 'oidc' } } },
    'spec.incomingAuth',
    'type oidc needs oidcConfigRef',
  ),
  accepts({ of: 'crd.vmcp.oidc-config-ref.not-required-for-anonymous' }),
  accepts({ set: { incomingAuth: { ...oidc, type: 'anonymous' } } }),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.name-required',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { audience: 'tools' } } },
    },
    'spec.incomingAuth.oidcConfigRef.name',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.name-min-length',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: '', audience: 'tools' } } },
    },
    'spec.incomingAuth.oidcConfigRef.name',
    EMPTY,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.audience-required',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login' } } },
    },
    'spec.incomingAuth.oidcConfigRef.audience',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.audience-min-length',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login', audience: '' } } },
    },
    'spec.incomingAuth.oidcConfigRef.audience',
    EMPTY,
  ),
];

const policies = (inline: Readonly<Record<string, unknown>>) => ({
  'incomingAuth.authzConfig': { type: 'inline', inline },
});
const primary = (primaryUpstreamProvider: string) => policies({ policies: [], primaryUpstreamProvider });
const PRIMARY = 'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider';

export const authzCases = [
  accepts({ of: 'crd.vmcp.authz-config.optional' }, { 'incomingAuth.authzConfig': undefined }),
  accepts(
    {
      of: 'crd.vmcp.authz-config.type-default',
      set: { 'incomingAuth.authzConfig': { configMap: { name: 'policies' } } },
    },
    { 'incomingAuth.authzConfig.type': 'configMap', 'incomingAuth.authzConfig.configMap.key': 'authz.json' },
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.type-enum', set: { 'incomingAuth.authzConfig': { type: 'file' } } },
    'spec.incomingAuth.authzConfig.type',
    ENUM,
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.config-map-required', set: { 'incomingAuth.authzConfig': {} } },
    'spec.incomingAuth.authzConfig',
    'type configMap needs configMap',
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.config-map-name-required', set: { 'incomingAuth.authzConfig': { configMap: {} } } },
    'spec.incomingAuth.authzConfig.configMap.name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.inline-required', set: { 'incomingAuth.authzConfig': { type: 'inline' } } },
    'spec.incomingAuth.authzConfig',
    'type inline needs inline',
  ),
  refuses(
    { set: { 'incomingAuth.authzConfig': { configMap: { name: 'a' }, inline: { policies: [] } } } },
    'spec.incomingAuth.authzConfig.inline',
    'inline is allowed only with type inline',
  ),
  accepts(
    { set: policies({ policies: ['permit(principal, action, resource);'] }) },
    { 'incomingAuth.authzConfig.inline.entitiesJson': '[]' },
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.inline-policies-required', set: policies({}) },
    'spec.incomingAuth.authzConfig.inline.policies',
    REQUIRED,
  ),
  accepts({ of: 'crd.vmcp.authz-config.primary-upstream.pattern', set: primary('idp-2') }),
  ...['-idp', 'idp-', 'Idp'].map((name) =>
    refuses({ of: 'crd.vmcp.authz-config.primary-upstream.pattern', set: primary(name) }, PRIMARY, 'should match'),
  ),
  refuses({ of: 'crd.vmcp.authz-config.primary-upstream.min-length', set: primary('') }, PRIMARY, EMPTY),
  accepts({ of: 'crd.vmcp.authz-config.primary-upstream.max-length', set: primary('a'.repeat(63)) }),
  refuses(
    { of: 'crd.vmcp.authz-config.primary-upstream.max-length', set: primary('a'.repeat(64)) },
    PRIMARY,
    'more than 63',
  ),
];

const viaRef = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'token' } };

export const outgoingAuthCases = [
  accepts(
    { of: 'crd.vmcp.outgoing-auth.source-default', set: { outgoingAuth: {} } },
    { 'outgoingAuth.source': 'discovered' },
  ),
  accepts({ of: 'crd.vmcp.outgoing-auth.source-enum', set: { outgoingAuth: { source: 'inline' } } }),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.source-enum', set: { outgoingAuth: { source: 'mixed' } } },
    'spec.outgoingAuth.source',
    ENUM,
  ),
  accepts({ set: { outgoingAuth: { default: viaRef, backends: { github: viaRef, jira: { type: 'discovered' } } } } }),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.default.type-required', set: { 'outgoingAuth.default': {} } },
    'spec.outgoingAuth.default.type',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.default.type-enum', set: { 'outgoingAuth.default': { type: 'none' } } },
    'spec.outgoingAuth.default.type',
    ENUM,
  ),
  refuses(
    {
      of: 'crd.vmcp.outgoing-auth.default.ref-name-required',
      set: { 'outgoingAuth.default': { ...viaRef, externalAuthConfigRef: {} } },
    },
    'spec.outgoingAuth.default.externalAuthConfigRef.name',
    REQUIRED,
  ),
  refuses(
    { set: { 'outgoingAuth.default': { type: 'externalAuthConfigRef' } } },
    'spec.outgoingAuth.default',
    'type externalAuthConfigRef needs externalAuthConfigRef',
  ),
  refuses(
    { set: { 'outgoingAuth.default': { ...viaRef, type: 'discovered' } } },
    'spec.outgoingAuth.default.externalAuthConfigRef',
    'externalAuthConfigRef is allowed only with type externalAuthConfigRef',
  ),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.backends.type-enum', set: { 'outgoingAuth.backends': { github: { type: 'none' } } } },
    'spec.outgoingAuth.backends.github.type',
    ENUM,
  ),
];

export const sessionStorageCases = [
  accepts({ of: 'crd.vmcp.session-storage.optional' }, { sessionStorage: undefined }),
  refuses(
    { of: 'crd.vmcp.session-storage.provider-required', set: { sessionStorage: {} } },
    'spec.sessionStorage.provider',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.session-storage.provider-enum', set: { sessionStorage: { provider: 'redis' } } },
    'spec.sessionStorage.provider',
    ENUM,
  ),
  refuses(
    { of: 'crd.vmcp.session-storage.address-min-length', set: { sessionStorage: { ...store, address: '' } } },
    'spec.sessionStorage.address',
    EMPTY,
  ),
  refuses(
    { of: 'crd.vmcp.session-storage.address-required-kvstore', set: { sessionStorage: { provider: 'kvstore' } } },
    'spec.sessionStorage',
    'provider kvstore needs address; set address',
  ),
  accepts({ of: 'crd.vmcp.session-storage.address-optional-memory', set: { sessionStorage: { provider: 'memory' } } }),
  accepts({ of: 'crd.vmcp.session-storage.db-default', set: { sessionStorage: store } }, { 'sessionStorage.db': 0 }),
  refuses(
    { of: 'crd.vmcp.session-storage.db-int32', set: { sessionStorage: { ...store, db: 2_147_483_648 } } },
    'spec.sessionStorage.db',
    'int32',
  ),
  refuses(
    { of: 'crd.vmcp.session-storage.db-int32', set: { sessionStorage: { ...store, db: 'one' } } },
    'spec.sessionStorage.db',
    'integer',
  ),
  refuses(
    { of: 'crd.vmcp.session-storage.db-min', set: { sessionStorage: { ...store, db: -1 } } },
    'spec.sessionStorage.db',
    'should be greater than or equal to 0',
  ),
  accepts(
    { of: 'crd.vmcp.session-storage.password-ref', set: { sessionStorage: store } },
    { 'sessionStorage.passwordRef': undefined },
  ),
  accepts(
    { of: 'crd.vmcp.session-storage.password-ref', set: { sessionStorage: { ...store, passwordRef: secret } } },
    { 'sessionStorage.passwordRef': secret },
  ),
  refuses(
    { of: 'crd.secretref.name-required', set: { sessionStorage: { ...store, passwordRef: { key: 'password' } } } },
    'spec.sessionStorage.passwordRef.name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.secretref.key-required', set: { sessionStorage: { ...store, passwordRef: { name: 'store' } } } },
    'spec.sessionStorage.passwordRef.key',
    REQUIRED,
  ),
];

const bucket = { maxTokens: 5, refillPeriod: '1m' };
const perUser = { tools: [{ name: 'search', perUser: bucket }] };

export const acrossFieldsCases = [
  refuses(
    { of: 'ratelimit.per-user.requires-auth', set: { 'config.rateLimiting': { perUser: bucket } } },
    'spec',
    'set incomingAuth.type: oidc, or use config.rateLimiting.shared',
  ),
  accepts({
    of: 'ratelimit.per-user.requires-auth',
    set: { incomingAuth: oidc, 'config.rateLimiting': { perUser: bucket } },
  }),
  refuses(
    { of: 'ratelimit.tools.per-user-requires-auth', set: { 'config.rateLimiting': perUser } },
    'spec',
    'or use shared of the tool',
  ),
  accepts({
    of: 'ratelimit.tools.per-user-requires-auth',
    set: { incomingAuth: oidc, 'config.rateLimiting': perUser },
  }),
  accepts({ set: { 'config.rateLimiting': { shared: bucket, tools: [{ name: 'search', shared: bucket }] } } }),
  refuses(
    { of: 'optimizer.embedding-server-ref.required', set: { 'config.optimizer': {} } },
    'spec',
    'config.optimizer needs embeddingServerRef',
  ),
  accepts(
    {
      of: 'optimizer.embedding-server-ref.required',
      set: { 'config.optimizer': {}, embeddingServerRef: { name: 'vectors' } },
    },
    {
      'config.optimizer.maxToolsToReturn': 8,
      'config.optimizer.hybridSearchSemanticRatio': '0.5',
      'config.optimizer.semanticDistanceThreshold': '1.0',
      'config.optimizer.embeddingServiceTimeout': '30s',
    },
  ),
];
