import * as z from 'zod';

import { keyedList } from '../runtime/config/index.ts';
import { commonStatus, statusExtensions } from './kit.ts';

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
export const virtualMcpServerStatus = z.strictObject({
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
