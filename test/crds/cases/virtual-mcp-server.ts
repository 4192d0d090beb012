import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const oidc = { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } };
const store = { provider: 'kvstore', address: 'valkey:6379' };
const secret = { name: 'store', key: 'password' };

export const serverCases = [
  accepts(
    { of: 'crd.vmcp.minimal-valid' },
    { replicas: undefined, serviceType: 'ClusterIP', sessionAffinity: 'ClientIP', config: undefined },
  ),
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
  refuses({ set: { unheardOf: 1 } }, 'spec.unheardOf', 'unknown field'),
  refuses({ set: { 'config.unheardOf': 1 } }, 'spec.config.unheardOf', 'unknown field'),
  accepts({ name: 'a'.repeat(40) }),
  refuses({ name: 'a'.repeat(41) }, 'metadata.name', 'use at most 40 lower-case letters'),
  refuses({ name: '1st' }, 'metadata.name', 'beginning with a letter'),
  refuses({ name: 'with.dot' }, 'metadata.name', 'use at most 40 lower-case letters'),
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
