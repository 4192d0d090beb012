import * as z from 'zod';
import { AGE_COLUMN, defineKind } from './kind.ts';
import { commonStatus, configMapKeyRef } from './kit.ts';
import { externalAuthConfigRef, groupRef, headerForward, remoteUrl } from './workload.ts';

const caBundleRef = () =>
  z.strictObject({ configMapRef: configMapKeyRef().describe('ConfigMap key that holds PEM certificates.') });

export const mcpServerEntry = defineKind({
  kind: 'MCPServerEntry',
  plural: 'mcpserverentries',
  shortNames: ['mcpentry'],
  description: 'An MCP server that already runs somewhere and is reached by its address; it gets no pods.',
  spec: z.strictObject({
    groupRef: groupRef().describe('The MCPGroup (same namespace) that this server belongs to.'),
    remoteUrl: remoteUrl(),
    transport: z.enum(['streamable-http', 'sse']).describe('How the server is spoken to.'),
    externalAuthConfigRef: externalAuthConfigRef()
      .optional()
      .describe(
        'How requests to the server are authenticated; taken by a VirtualMCPServer that discovers its backends.',
      ),
    headerForward: headerForward().optional().describe('Headers added to every request to the server.'),
    caBundleRef: caBundleRef()
      .optional()
      .describe("Certificates that the server's own is verified against, in place of the usual authorities."),
  }),
  status: z.strictObject({
    phase: z.enum(['Pending', 'Valid', 'Failed']).default('Pending').describe('Whether the entry can be used.'),
    ...commonStatus,
  }),
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'Transport', path: '.spec.transport' },
    { name: 'Remote URL', path: '.spec.remoteUrl' },
    { name: 'Group', path: '.spec.groupRef.name' },
    AGE_COLUMN,
  ],
});
