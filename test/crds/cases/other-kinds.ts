import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED } from './words.ts';

const secret = { name: 'login', key: 'secret' };

const entry = casesOf('MCPServerEntry');
const group = casesOf('MCPGroup');
const server = casesOf('MCPServer');
const proxy = casesOf('MCPRemoteProxy');
const oidc = casesOf('MCPOIDCConfig');
const tools = casesOf('MCPToolConfig');
const telemetry = casesOf('MCPTelemetryConfig');
const vectors = casesOf('EmbeddingServer');
const composite = casesOf('VirtualMCPCompositeToolDefinition');

export const entryCases = [
  entry.accepts({}),
  entry.refuses({ set: { '': undefined } }, 'spec', REQUIRED),
  entry.refuses({ set: { groupRef: undefined } }, 'spec.groupRef', REQUIRED),
  entry.refuses({ set: { 'groupRef.name': '' } }, 'spec.groupRef.name', EMPTY),
  entry.refuses({ set: { remoteUrl: 'ftp://mcp.example.com' } }, 'spec.remoteUrl', 'should match'),
  entry.refuses({ set: { remoteUrl: undefined } }, 'spec.remoteUrl', REQUIRED),
  entry.accepts({ set: { transport: 'sse' } }),
  entry.refuses({ set: { transport: 'stdio' } }, 'spec.transport', ENUM),
  entry.accepts({
    set: {
      externalAuthConfigRef: { name: 'token' },
      headerForward: {
        addPlaintextHeaders: { 'X-Team': 'search' },
        addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: secret }],
      },
      caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } },
    },
  }),
  entry.refuses(
    { set: { caBundleRef: { configMapRef: { name: 'ca' } } } },
    'spec.caBundleRef.configMapRef.key',
    REQUIRED,
  ),
  entry.refuses(
    {
      set: {
        'headerForward.addHeadersFromSecret': [1, 2].map(() => ({ headerName: 'X-Key', valueSecretRef: secret })),
      },
    },
    'spec.headerForward.addHeadersFromSecret[1]',
    'Duplicate value',
  ),
  group.accepts({ set: { '': undefined } }),
  group.accepts({ set: { description: 'all tools' } }),
  group.refuses({ set: { servers: ['a'] } }, 'spec.servers', 'unknown field'),
];

const bucket = { maxTokens: 5, refillPeriod: '1m' };
const oidcConfigRef = { name: 'login', audience: 'server' };

export const workloadCases = [
  server.accepts({}, { transport: 'stdio', sessionAffinity: 'ClientIP', replicas: undefined }),
  server.refuses({ set: { image: undefined } }, 'spec.image', REQUIRED),
  server.refuses({ set: { image: '' } }, 'spec.image', EMPTY),
  server.refuses({ set: { transport: 'http' } }, 'spec.transport', ENUM),
  server.refuses({ set: { mcpPort: 0 } }, 'spec.mcpPort', 'greater than or equal to 1'),
  server.refuses({ set: { mcpPort: 65_536 } }, 'spec.mcpPort', 'less than or equal to 65535'),
  server.accepts({ set: { env: [{ name: 'A', value: '' }], secrets: [{ ...secret, targetEnvName: 'TOKEN' }] } }),
  server.refuses(
    {
      set: {
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
    },
    'spec.env[1]',
    'Duplicate value',
  ),
  server.refuses({ set: { rateLimiting: { perUser: bucket } } }, 'spec.rateLimiting', 'a limit per user needs users'),
  server.refuses(
    { set: { rateLimiting: { tools: [{ name: 'a', perUser: bucket }] } } },
    'spec.rateLimiting',
    'a limit per user needs users',
  ),
  server.accepts({ set: { oidcConfigRef, rateLimiting: { perUser: bucket } } }),
  server.refuses(
    { set: { oidcConfigRef, authServerRef: { name: 'issuer', kind: 'Secret' } } },
    'spec.authServerRef.kind',
    ENUM,
  ),
  server.refuses(
    { set: { oidcConfigRef, authzConfig: { type: 'inline' } } },
    'spec.authzConfig',
    'type inline needs inline',
  ),
  server.accepts(
    { set: { podTemplateSpec: { spec: { nodeSelector: { disk: 'ssd' } } } } },
    { 'podTemplateSpec.spec.nodeSelector.disk': 'ssd' },
  ),
  proxy.accepts({}, { transport: 'streamable-http', sessionAffinity: 'ClientIP' }),
  proxy.refuses({ set: { remoteUrl: 'mcp.example.com' } }, 'spec.remoteUrl', 'should match'),
  proxy.refuses({ set: { transport: 'stdio' } }, 'spec.transport', ENUM),
  proxy.accepts({ set: { oidcConfigRef } }, { 'oidcConfigRef.scopes': ['openid'] }),
  proxy.refuses(
    { set: { sessionStorage: { provider: 'kvstore' } } },
    'spec.sessionStorage',
    'provider kvstore needs address',
  ),
  vectors.accepts({}, { model: 'BAAI/bge-small-en-v1.5', port: 8080, replicas: 1, imagePullPolicy: 'IfNotPresent' }),
  vectors.accepts({ set: { modelCache: {} } }, { 'modelCache.enabled': true, 'modelCache.size': '10Gi' }),
  vectors.refuses({ set: { replicas: 0 } }, 'spec.replicas', 'greater than or equal to 1'),
  vectors.refuses({ set: { imagePullPolicy: 'Sometimes' } }, 'spec.imagePullPolicy', ENUM),
  vectors.accepts({ name: 'e'.repeat(36) }),
  vectors.refuses({ name: 'e'.repeat(37) }, 'metadata.name', 'use at most 36 lower-case letters'),
];

const sink = { endpoint: 'otel:4317', tracing: { enabled: true } };

export const sharedConfigCases = [
  oidc.accepts({ of: 'oidcconfig.type-values' }, { 'inline.insecureAllowHTTP': false }),
  oidc.accepts({
    of: ['oidcconfig.type-values', 'crd.naming.neutral-words'],
    set: { '': { type: 'clusterServiceAccount', clusterServiceAccount: {} } },
  }),
  oidc.refuses({ of: 'oidcconfig.type-values', set: { '': { type: 'kubernetes' } } }, 'spec.type', ENUM),
  oidc.refuses({ of: 'oidcconfig.inline.issuer-required', set: { inline: {} } }, 'spec.inline.issuer', REQUIRED),
  oidc.refuses({ set: { inline: undefined } }, 'spec', 'type inline needs inline'),
  oidc.refuses(
    { set: { clusterServiceAccount: {} } },
    'spec.clusterServiceAccount',
    'allowed only with type clusterServiceAccount',
  ),
  oidc.refuses({ set: { 'inline.clientSecretRef': { name: 'a' } } }, 'spec.inline.clientSecretRef.key', REQUIRED),
  tools.accepts({ set: { toolsFilter: ['a'], toolsOverride: { a: { name: 'b', annotations: { title: 'B' } } } } }),
  tools.refuses({ set: { toolsFilter: ['a', 'a'] } }, 'spec.toolsFilter[1]', 'Duplicate value'),
  tools.refuses({ set: { toolsOverride: { a: { title: 'B' } } } }, 'spec.toolsOverride.a.title', 'unknown field'),
  telemetry.accepts(
    { set: { openTelemetry: sink } },
    { 'openTelemetry.tracing.samplingRate': '0.05', 'openTelemetry.useLegacyAttributes': true },
  ),
  telemetry.refuses(
    { set: { openTelemetry: { endpoint: 'otel:4317' } } },
    'spec.openTelemetry.endpoint',
    'nothing is sent to it',
  ),
  telemetry.accepts({
    set: { openTelemetry: { ...sink, headers: { a: 'b' }, sensitiveHeaders: [{ name: 'c', secretKeyRef: secret }] } },
  }),
  telemetry.refuses(
    {
      set: { openTelemetry: { ...sink, headers: { a: 'b' }, sensitiveHeaders: [{ name: 'a', secretKeyRef: secret }] } },
    },
    'spec.openTelemetry',
    'keep it in one of them',
  ),
  telemetry.refuses(
    {
      set: { openTelemetry: { ...sink, insecure: true, caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } } } },
    },
    'spec.openTelemetry.caBundleRef',
    'insecure and caBundleRef exclude each other',
  ),
  telemetry.refuses(
    { set: { openTelemetry: { ...sink, tracing: { samplingRate: '2' } } } },
    'spec.openTelemetry.tracing.samplingRate',
    'should match',
  ),
  composite.accepts({}, { 'steps[0].type': 'tool' }),
  composite.refuses({ set: { name: undefined } }, 'spec.name', REQUIRED),
  composite.refuses({ set: { steps: [] } }, 'spec.steps', 'should have at least 1 items'),
];
