import {
  type Row,
  type Target,
  anonymous,
  authConfig,
  authServer,
  configMap,
  issuer,
  key,
  policy,
  secret,
  secretsOf,
} from './row.ts';

const served = { missing: 'Pending', found: 'Ready', deleted: 'Degraded' };

const workflow = (tool: string) => ({ name: 'flow', steps: [{ id: 'a', type: 'tool', tool }] });

const gateway = (name: string, spec: object, target: Target, subject: string): Row => ({
  referrer: ['VirtualMCPServer', name, { ...anonymous, ...spec }],
  targets: [target],
  subject,
  phases: served,
  server: name,
  afterwards: 'kept',
});

const oidc = (more: object) => ({ type: 'oidc', oidcConfigRef: { name: 'shared-oidc', audience: 'a' }, ...more });

const ofServers: readonly Row[] = [
  gateway('by-group', { groupRef: { name: 'own' } }, { made: ['MCPGroup', 'own', {}], changed: {} }, 'Group'),
  gateway(
    'by-oidc',
    { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'oidc', audience: 'a' } } },
    { made: ['MCPOIDCConfig', 'oidc', issuer('one')], changed: issuer('two') },
    'OIDCConfig',
  ),
  gateway(
    'by-policies',
    { incomingAuth: oidc({ authzConfig: { type: 'configMap', configMap: { name: 'policies' } } }) },
    configMap('policies', 'authz.json', policy('permit'), policy('forbid')),
    'ConfigMap',
  ),
  gateway(
    'by-telemetry',
    { telemetryConfigRef: { name: 'telemetry' } },
    {
      made: ['MCPTelemetryConfig', 'telemetry', { prometheus: { enabled: true } }],
      changed: { prometheus: { enabled: false } },
    },
    'TelemetryConfig',
  ),
  gateway(
    'by-tools',
    { config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'filter' } }] } } },
    { made: ['MCPToolConfig', 'filter', { toolsFilter: ['one'] }], changed: { toolsFilter: ['two'] } },
    'ToolConfig',
  ),
  gateway(
    'by-workflow',
    { config: { compositeToolRefs: [{ name: 'flow' }] } },
    { made: ['VirtualMCPCompositeToolDefinition', 'flow', workflow('x.y')], changed: workflow('x.z') },
    'CompositeTool',
  ),
];

/** One backend is missed, and its server goes on. */
const partly = { missing: 'Degraded', found: 'Ready', deleted: 'Degraded' };
const outgoing = (rule: object) => ({ groupRef: { name: 'manned' }, outgoingAuth: rule });
const byConfig = (name: string) => ({ type: 'externalAuthConfigRef', externalAuthConfigRef: { name } });

const ofBackends: readonly Row[] = [
  {
    ...gateway(
      'by-default',
      outgoing({ default: byConfig('by-default') }),
      authConfig('by-default'),
      'ExternalAuthConfig',
    ),
    phases: partly,
    afterwards: 'withheld',
  },
  {
    ...gateway(
      'by-backend',
      outgoing({ backends: { tool: byConfig('by-backend') } }),
      authConfig('by-backend'),
      'ExternalAuthConfig',
    ),
    phases: partly,
    afterwards: 'withheld',
  },
];

/**
 * Values of Secrets reach the pods through the kubelet, and nobody waits for them (docs/decisions.md "Secrets in
 * files").
 */
const told = { subject: 'Secret', phases: {} };

const ofSecrets: readonly Row[] = [
  {
    ...told,
    referrer: [
      'VirtualMCPServer',
      'by-session-password',
      {
        ...anonymous,
        sessionStorage: { provider: 'kvstore', address: 'redis:6379', passwordRef: key('session-password') },
      },
    ],
    targets: [secret('session-password')],
    phases: { missing: 'Ready', found: 'Ready', deleted: 'Ready' },
    server: 'by-session-password',
    afterwards: 'kept',
  },
  {
    ...told,
    referrer: [
      'VirtualMCPServer',
      'by-auth-server',
      { ...anonymous, incomingAuth: oidc({}), authServerConfig: authServer('server') },
    ],
    targets: secretsOf('server'),
    phases: { missing: 'Ready', found: 'Ready', deleted: 'Ready' },
    server: 'by-auth-server',
    afterwards: 'kept',
  },
];

/** Its pods have to be ready before the server has any. */
const ofOptimizer: readonly Row[] = [
  gateway(
    'by-embedding',
    { embeddingServerRef: { name: 'vectors' }, config: { optimizer: {} } },
    { made: ['EmbeddingServer', 'vectors', { model: 'one' }], changed: { model: 'two' } },
    'EmbeddingServer',
  ),
];

export const VIRTUAL_SERVERS: readonly Row[] = [...ofServers, ...ofBackends, ...ofSecrets, ...ofOptimizer];
