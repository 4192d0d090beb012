import * as z from 'zod';
import { rateLimitingSchema, rule, withRules } from '../runtime/config/index.ts';
import { authzConfig, callerRules, oidcConfigRef } from './incoming-auth.ts';
import { AGE_COLUMN, READY_COLUMN, defineKind } from './kind.ts';
import { commonStatus, dataKey, nonEmpty, refWith, statusExtensions, subdomain } from './kit.ts';
import {
  authServerRef,
  environment,
  externalAuthConfigRef,
  groupRef,
  podTemplateSpec,
  replicas,
  resources,
  serviceAccount,
  sessionAffinity,
  sessionStorage,
  variableName,
} from './workload.ts';

const secret = refWith(
  'Secret',
  {
    key: dataKey().describe('Key inside the Secret.'),
    targetEnvName: variableName().optional().describe('Environment variable that gets the value. Default: the key.'),
  },
  subdomain(),
);

const spec = z.strictObject({
  image: nonEmpty().describe('Container image of the server.'),
  transport: z
    .enum(['stdio', 'streamable-http', 'sse'])
    .default('stdio')
    .describe('How the container is spoken to. A stdio server is bridged to streamable HTTP.'),
  mcpPort: z
    .int32()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port the container listens on, unless the transport is stdio. Default: 8080.'),
  args: z.array(z.string()).optional().describe('Arguments of the container.'),
  env: environment().optional().describe('Environment variables of the container.'),
  secrets: z
    .array(secret)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name', 'key'] })
    .optional()
    .describe('Secret keys given to the container as environment variables.'),
  groupRef: groupRef().optional().describe('The MCPGroup (same namespace) that this server belongs to.'),
  externalAuthConfigRef: externalAuthConfigRef()
    .optional()
    .describe('How a VirtualMCPServer that discovers its backends authenticates to this server.'),
  oidcConfigRef: oidcConfigRef().optional().describe('Whose tokens this server accepts from its own clients.'),
  authzConfig: authzConfig().optional().describe('Policies for calls of its own clients.'),
  authServerRef: authServerRef()
    .optional()
    .describe('An MCPExternalAuthConfig of type embeddedAuthServer: this server issues tokens of its own.'),
  rateLimiting: rateLimitingSchema.optional().describe('Limits for calls of its own clients.'),
  sessionStorage: sessionStorage()
    .optional()
    .describe('Where sessions and limits are kept when there are several replicas.'),
  replicas: replicas()
    .optional()
    .describe(
      'Number of pods; with clients of its own, of the container and of the runtime in front. Absent: left to an autoscaler.',
    ),
  resources: resources().optional().describe("Resources of the server's container."),
  serviceAccount: serviceAccount(),
  sessionAffinity: sessionAffinity(),
  podTemplateSpec: podTemplateSpec('mcp').optional(),
});

const FIELDS_OF_OWN_CLIENTS = ['oidcConfigRef', 'authzConfig', 'rateLimiting', 'authServerRef'] as const;

/**
 * Has the server clients of its own? Then the vmcp runtime stands in front of its container (docs/decisions.md "Runtime
 * in front of a server").
 */
export const hasOwnClients = (server: Partial<Record<(typeof FIELDS_OF_OWN_CLIENTS)[number], unknown>>): boolean =>
  FIELDS_OF_OWN_CLIENTS.some((field) => server[field] !== undefined);

interface Limits {
  readonly oidcConfigRef?: unknown;
  readonly rateLimiting?:
    | { readonly perUser?: unknown; readonly tools?: readonly { readonly perUser?: unknown }[] | undefined }
    | undefined;
}

const perUserLimitNeedsUsers = rule<Limits>({
  cel: '!has(self.rateLimiting) || has(self.oidcConfigRef) || (!has(self.rateLimiting.perUser) && (!has(self.rateLimiting.tools) || self.rateLimiting.tools.all(t, !has(t.perUser))))',
  holds: ({ oidcConfigRef, rateLimiting }) =>
    oidcConfigRef !== undefined ||
    (rateLimiting?.perUser === undefined && (rateLimiting?.tools ?? []).every(({ perUser }) => perUser === undefined)),
  reason: 'a limit per user needs users',
  remedy: 'set oidcConfigRef',
  field: 'rateLimiting',
});

export const mcpServer = defineKind({
  kind: 'MCPServer',
  plural: 'mcpservers',
  shortNames: ['mcpsrv'],
  description: 'An MCP server run from a container image.',
  spec: withRules(spec, perUserLimitNeedsUsers, ...callerRules),
  status: z.strictObject({
    phase: z
      .enum(['Pending', 'Ready', 'Failed', 'Stopped'])
      .default('Pending')
      .describe('Whether the server answers; Stopped: scaled to zero.'),
    message: z.string().optional().describe('Detail about the phase.'),
    url: z.string().optional().describe('Address of the server.'),
    readyReplicas: z.int32().optional().describe('Pods that are ready.'),
    oidcConfigHash: z.string().optional().describe('Hash of the MCPOIDCConfig that is in effect.'),
    ...commonStatus,
    extensions: statusExtensions({}),
  }),
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'URL', path: '.status.url' },
    { name: 'Transport', path: '.spec.transport' },
    { name: 'Replicas', path: '.status.readyReplicas', type: 'integer' },
    READY_COLUMN,
    AGE_COLUMN,
  ],
});
