import * as z from 'zod';
import { configSchema, keyedList, presentExactlyWhen, requiredWhen, rule, withRules } from '../runtime/config/index.ts';
import { embeddedAuthServer } from './embedded-auth-server.ts';
import { authzConfig, oidcConfigRef } from './incoming-auth.ts';
import { AGE_COLUMN, READY_COLUMN, defineKind } from './kind.ts';
import { commonStatus, mark, nonEmpty, refTo, refWith, statusExtensions } from './kit.ts';
import { groupRef, podTemplateSpec, replicas, serviceAccount, sessionAffinity, sessionStorage } from './workload.ts';

const incomingAuth = withRules(
  z.strictObject({
    type: z
      .enum(['anonymous', 'oidc'])
      .describe('Who may connect. anonymous: everybody, without access control. oidc: holders of a valid token.'),
    oidcConfigRef: oidcConfigRef().optional().describe('The MCPOIDCConfig that says whose tokens are valid.'),
    authzConfig: authzConfig().optional().describe('Policies: who may call what.'),
  }),
  requiredWhen({ key: 'type', is: 'oidc' }, 'oidcConfigRef'),
);

const backendAuth = () =>
  withRules(
    z.strictObject({
      type: z
        .enum(['discovered', 'externalAuthConfigRef'])
        .describe("Whether the backend's own reference is used or the one given here."),
      externalAuthConfigRef: refTo('MCPExternalAuthConfig').optional().describe('The MCPExternalAuthConfig to use.'),
    }),
    ...presentExactlyWhen({ key: 'type', is: 'externalAuthConfigRef' }, 'externalAuthConfigRef'),
  );

const outgoingAuth = z.strictObject({
  source: z
    .enum(['discovered', 'inline'])
    .default('discovered')
    .describe('discovered: each backend says how it is authenticated to. inline: this resource says it.'),
  default: backendAuth().optional().describe('For backends without an entry of their own.'),
  backends: z.record(z.string(), backendAuth()).optional().describe('By backend name; works with both sources.'),
});

/**
 * Without these bounds the API server refuses the rules inside as too costly: docs/resources.md "Where a bound is ours"
 */
const MAX_ENTRIES = 256;

/** `spec.config`, as the runtime defines it; what Kubernetes has to know besides. */
const config = mark(configSchema, {
  below: {
    'aggregation.tools[].toolConfigRef': { refersTo: 'MCPToolConfig' },
    'compositeToolRefs[]': { refersTo: 'VirtualMCPCompositeToolDefinition' },
    'operational.timeouts.perWorkload': { maxProperties: MAX_ENTRIES },
    'extensions.perWorkload': { maxProperties: MAX_ENTRIES },
    backends: { maxItems: MAX_ENTRIES },
    compositeTools: { maxItems: 64 },
    'outgoingAuth.backends': { maxProperties: MAX_ENTRIES },
    'aggregation.tools': { maxItems: MAX_ENTRIES },
    'aggregation.conflictResolutionConfig.priorityOrder': { maxItems: MAX_ENTRIES },
    'extensions.allowedHosts': { maxItems: 64 },
    'extensions.allowedOrigins': { maxItems: 64 },
  },
});

const spec = z.strictObject({
  groupRef: groupRef().describe('The MCPGroup (same namespace) whose members are the backends.'),
  incomingAuth: incomingAuth.describe('Client authentication; takes precedence over config.incomingAuth.'),
  outgoingAuth: outgoingAuth
    .optional()
    .describe('Authentication to the backends; takes precedence over config.outgoingAuth.'),
  authServerConfig: embeddedAuthServer
    .optional()
    .describe('Embedded authorization server; its issuer must be that of the MCPOIDCConfig of incomingAuth.'),
  config: config.optional(),
  embeddingServerRef: refTo('EmbeddingServer').optional().describe('The EmbeddingServer of the optimizer.'),
  imagePullSecrets: z
    .array(z.strictObject({ name: z.string().default('').describe('Name of the Secret.') }))
    .optional()
    .describe('Secrets that pull the images.'),
  podTemplateSpec: podTemplateSpec('vmcp').optional(),
  replicas: replicas().optional().describe('Number of pods. Absent: left to an autoscaler.'),
  serviceAccount: serviceAccount(),
  serviceType: z
    .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
    .default('ClusterIP')
    .describe('Type of the Service in front of the pods.'),
  sessionAffinity: sessionAffinity(),
  sessionStorage: sessionStorage()
    .optional()
    .describe('Where sessions are kept; with kvstore any replica serves any session.'),
  telemetryConfigRef: refWith(
    'MCPTelemetryConfig',
    {
      serviceName: z
        .string()
        .optional()
        .describe('Service name in telemetry, unique per server. Default: vmcp-<name of the server>.'),
    },
    nonEmpty(),
  )
    .optional()
    .describe('The MCPTelemetryConfig that says where traces and metrics go.'),
});

interface Limits {
  readonly perUser?: unknown;
  readonly tools?: readonly { readonly perUser?: unknown }[] | undefined;
}

interface Spec {
  readonly incomingAuth: { readonly type: string };
  readonly authServerConfig?: unknown;
  readonly embeddingServerRef?: unknown;
  readonly config?: { readonly optimizer?: unknown; readonly rateLimiting?: Limits | undefined } | undefined;
}

const isAnonymous = ({ incomingAuth }: Spec): boolean => incomingAuth.type === 'anonymous';

const NO_USERS = 'users are known only with incomingAuth.type oidc';
const hasLimits = 'has(self.config) && has(self.config.rateLimiting)';

/**
 * Rules between fields of `spec` (docs/decisions.md "Limits per replica", "The optimizer needs its EmbeddingServer").
 */
const virtualMcpServerRules = [
  rule<Spec>({
    cel: "!has(self.authServerConfig) || self.incomingAuth.type != 'anonymous'",
    holds: (spec) => spec.authServerConfig === undefined || !isAnonymous(spec),
    reason: 'authServerConfig issues tokens that incomingAuth.type anonymous would not check',
    remedy: 'set incomingAuth.type: oidc with an oidcConfigRef',
    field: 'authServerConfig',
  }),
  rule<Spec>({
    cel: '!has(self.config) || !has(self.config.optimizer) || has(self.embeddingServerRef)',
    holds: ({ config, embeddingServerRef }) => config?.optimizer === undefined || embeddingServerRef !== undefined,
    reason: 'config.optimizer needs embeddingServerRef',
    remedy: 'set embeddingServerRef to an EmbeddingServer of this namespace, or remove config.optimizer',
  }),
  rule<Spec>({
    cel: `!(${hasLimits} && has(self.config.rateLimiting.perUser)) || self.incomingAuth.type != 'anonymous'`,
    holds: (spec) => spec.config?.rateLimiting?.perUser === undefined || !isAnonymous(spec),
    reason: `config.rateLimiting.perUser limits users, and ${NO_USERS}`,
    remedy: 'set incomingAuth.type: oidc, or use config.rateLimiting.shared',
  }),
  rule<Spec>({
    cel: `!(${hasLimits} && has(self.config.rateLimiting.tools)) || self.incomingAuth.type != 'anonymous' || self.config.rateLimiting.tools.all(t, !has(t.perUser))`,
    holds: (spec) =>
      !isAnonymous(spec) || (spec.config?.rateLimiting?.tools ?? []).every(({ perUser }) => perUser === undefined),
    reason: `config.rateLimiting.tools[].perUser limits users, and ${NO_USERS}`,
    remedy: 'set incomingAuth.type: oidc, or use shared of the tool',
  }),
];

const time = () => z.iso.datetime({ offset: true });

const discoveredBackend = z.strictObject({
  name: z.string().describe('Name of the workload.'),
  url: z.string().optional().describe('Address of the backend.'),
  status: z
    .enum(['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown'])
    .optional()
    .describe('Whether calls are routed to it: ready and unauthenticated ones are.'),
  authType: z
    .string()
    .optional()
    .describe(
      'How requests to it are authenticated: the type, as the MCPExternalAuthConfig or config.outgoingAuth spells it.',
    ),
  authConfigRef: z.string().optional().describe('The MCPExternalAuthConfig found for it.'),
  message: z.string().optional().describe('Why it is not ready.'),
  lastHealthCheck: time().optional().describe('When it was last looked at; refreshed every 10 minutes at most.'),
  consecutiveFailures: z.int32().min(0).optional().describe('Failures since the last success.'),
  circuitBreakerState: z
    .enum(['closed', 'open', 'half-open', ''])
    .optional()
    .describe('State of the circuit breaker; empty when there is none.'),
  circuitLastChanged: time().optional().describe('When the circuit last changed; absent when it never did.'),
});

/** docs/status.md "VirtualMCPServer" */
const virtualMcpServerStatus = z.strictObject({
  phase: z
    .enum(['Pending', 'Ready', 'Degraded', 'Failed'])
    .default('Pending')
    .describe('Pending: waiting. Ready: serving. Degraded: serving, but something is wrong. Failed: nothing to serve.'),
  message: z.string().optional().describe('Detail about the phase.'),
  url: z.string().optional().describe('Address where clients reach the server.'),
  backendCount: z.int32().optional().describe('Backends that calls are routed to.'),
  oidcConfigHash: z.string().optional().describe('Hash of the MCPOIDCConfig that is in effect.'),
  telemetryConfigHash: z.string().optional().describe('Hash of the MCPTelemetryConfig that is in effect.'),
  discoveredBackends: keyedList(discoveredBackend, 'name').optional().describe('The backends of the group.'),
  ...commonStatus,
  extensions: statusExtensions({
    toolCount: z.int32().optional().describe('Tools offered to an anonymous caller.'),
    replicas: z.int32().optional().describe('Pods that are ready; for the scale subresource.'),
    selector: z.string().optional().describe('Labels of the pods, as a label selector; for the scale subresource.'),
  }),
});

export const virtualMcpServer = defineKind({
  kind: 'VirtualMCPServer',
  plural: 'virtualmcpservers',
  shortNames: ['vmcp', 'virtualmcp'],
  description: 'One MCP endpoint over all servers of an MCPGroup.',
  spec: withRules(spec, ...virtualMcpServerRules),
  status: virtualMcpServerStatus,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.extensions.replicas',
    labelSelectorPath: '.status.extensions.selector',
  },
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'URL', path: '.status.url' },
    { name: 'Backends', path: '.status.backendCount', type: 'integer' },
    { name: 'Tools', path: '.status.extensions.toolCount', type: 'integer' },
    READY_COLUMN,
    AGE_COLUMN,
    { name: 'Message', path: '.status.message', wide: true },
  ],
});
