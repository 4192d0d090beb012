import * as z from 'zod';

import { configSchema, notYet, presentExactlyWhen, requiredWhen, withRules } from '../runtime/config/index.ts';
import { AGE_COLUMN, READY_COLUMN } from './columns.ts';
import { embeddedAuthServer } from './embedded-auth-server.ts';
import { authzConfig, oidcConfigRef } from './incoming-auth.ts';
import { defineKind } from './kind.ts';
import { mark, nonEmpty, refTo, refWith } from './kit.ts';
import { sessionStorage } from './session-storage.ts';
import { virtualMcpServerRules } from './virtual-mcp-server-rules.ts';
import { virtualMcpServerStatus } from './virtual-mcp-server-status.ts';
import { groupRef, podTemplateSpec, replicas, serviceAccount, sessionAffinity } from './workload.ts';

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
      externalAuthConfigRef: notYet(
        refTo('MCPExternalAuthConfig').optional().describe('The MCPExternalAuthConfig to use.'),
        'authenticating to backends',
      ),
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
const MANY = 256;

/** `spec.config`, as the runtime defines it; what Kubernetes has to know besides. */
const config = mark(configSchema, {
  below: {
    'aggregation.tools[].toolConfigRef': { refersTo: 'MCPToolConfig' },
    'compositeToolRefs[]': { refersTo: 'VirtualMCPCompositeToolDefinition' },
    'operational.timeouts.perWorkload': { maxProperties: MANY },
    'extensions.perWorkload': { maxProperties: MANY },
    backends: { maxItems: MANY },
    compositeTools: { maxItems: 64 },
    'outgoingAuth.backends': { maxProperties: MANY },
    'aggregation.tools': { maxItems: MANY },
    'aggregation.conflictResolutionConfig.priorityOrder': { maxItems: MANY },
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
  authServerConfig: notYet(
    embeddedAuthServer
      .optional()
      .describe('Embedded authorization server; its issuer must be that of the MCPOIDCConfig of incomingAuth.'),
    'the embedded authorization server',
  ),
  config: config.optional(),
  embeddingServerRef: notYet(
    refTo('EmbeddingServer').optional().describe('The EmbeddingServer of the optimizer.'),
    'the optimizer',
  ),
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
  telemetryConfigRef: notYet(
    refWith(
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
    'telemetry',
  ),
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
