import type { ReconciledKind } from './kind.ts';
import { mcpGroup } from './mcp-group.ts';
import { mcpServerEntry } from './mcp-server-entry.ts';
import { virtualMcpServer } from './virtual-mcp-server.ts';

/** Every kind that is reconciled. Their bundles differ; whoever plans passes on what the same kind resolved. */
export const reconciledKinds: readonly ReconciledKind[] = [
  mcpGroup,
  mcpServerEntry,
  virtualMcpServer,
] as readonly unknown[] as readonly ReconciledKind[];
