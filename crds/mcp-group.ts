import * as z from 'zod';
import { AGE_COLUMN, defineKind } from './kind.ts';
import { commonStatus, setOf } from './kit.ts';

const names = (what: string) => setOf(z.string()).optional().describe(`Names of the ${what} in the group.`);
const count = (what: string) => z.int32().optional().describe(`Number of ${what} in the group.`);

export const mcpGroup = defineKind({
  kind: 'MCPGroup',
  plural: 'mcpgroups',
  shortNames: ['mcpg'],
  description: 'A set of MCP servers that a VirtualMCPServer serves as one. Members name the group, not the reverse.',
  specIsOptional: true,
  spec: z.strictObject({
    description: z.string().optional().describe('What the group is for; shown by kubectl get -o wide.'),
  }),
  status: z.strictObject({
    phase: z.enum(['Pending', 'Ready', 'Failed']).default('Pending').describe('Whether the members are known.'),
    ...commonStatus,
    servers: names('MCPServers'),
    remoteProxies: names('MCPRemoteProxies'),
    entries: names('MCPServerEntries'),
    serverCount: count('MCPServers'),
    remoteProxyCount: count('MCPRemoteProxies'),
    entryCount: count('MCPServerEntries'),
  }),
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'Servers', path: '.status.serverCount', type: 'integer' },
    { name: 'Proxies', path: '.status.remoteProxyCount', type: 'integer' },
    { name: 'Entries', path: '.status.entryCount', type: 'integer' },
    AGE_COLUMN,
    { name: 'Description', path: '.spec.description', wide: true },
  ],
});
