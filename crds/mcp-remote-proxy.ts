import * as z from 'zod';
import { withRules } from '../runtime/config/index.ts';
import { authzConfig, callerRules, oidcConfigRef } from './incoming-auth.ts';
import { AGE_COLUMN, READY_COLUMN, defineKind } from './kind.ts';
import { commonStatus, statusExtensions } from './kit.ts';
import {
  authServerRef,
  externalAuthConfigRef,
  groupRef,
  headerForward,
  podTemplateSpec,
  remoteUrl,
  replicas,
  resources,
  serviceAccount,
  sessionAffinity,
  sessionStorage,
} from './workload.ts';

const spec = z.strictObject({
  remoteUrl: remoteUrl(),
  transport: z
    .enum(['streamable-http', 'sse'])
    .default('streamable-http')
    .describe('How the remote server is spoken to.'),
  groupRef: groupRef().optional().describe('The MCPGroup (same namespace) that this proxy belongs to.'),
  externalAuthConfigRef: externalAuthConfigRef()
    .optional()
    .describe('How requests to the remote server are authenticated.'),
  headerForward: headerForward().optional().describe('Headers added to every request to the remote server.'),
  oidcConfigRef: oidcConfigRef()
    .optional()
    .describe('Whose tokens the proxy accepts from its clients. Absent: everybody may connect.'),
  authzConfig: authzConfig().optional().describe('Policies for calls of its clients.'),
  authServerRef: authServerRef()
    .optional()
    .describe('An MCPExternalAuthConfig of type embeddedAuthServer: the proxy issues tokens of its own.'),
  sessionStorage: sessionStorage().optional().describe('Where sessions are kept when there are several replicas.'),
  replicas: replicas().optional().describe('Number of pods. Absent: left to an autoscaler.'),
  resources: resources().optional().describe("Resources of the proxy's container, in place of the usual ones."),
  serviceAccount: serviceAccount(),
  sessionAffinity: sessionAffinity(),
  podTemplateSpec: podTemplateSpec('vmcp').optional(),
});

export const mcpRemoteProxy = defineKind({
  kind: 'MCPRemoteProxy',
  plural: 'mcpremoteproxies',
  shortNames: ['mcprp'],
  description: 'A remote MCP server with authentication and policies of its own in front of it.',
  spec: withRules(spec, ...callerRules),
  status: z.strictObject({
    phase: z.enum(['Pending', 'Ready', 'Failed']).default('Pending').describe('Whether the proxy answers.'),
    message: z.string().optional().describe('Detail about the phase.'),
    url: z.string().optional().describe('Address of the proxy.'),
    oidcConfigHash: z.string().optional().describe('Hash of the MCPOIDCConfig that is in effect.'),
    ...commonStatus,
    extensions: statusExtensions({}),
  }),
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'Remote URL', path: '.spec.remoteUrl' },
    { name: 'URL', path: '.status.url' },
    READY_COLUMN,
    AGE_COLUMN,
  ],
});
