import { newContract } from '../plan/contract.ts';
import type { ReconciledKind } from './kind.ts';
import { mcpGroup } from './mcp-group.ts';
import { mcpServerEntry } from './mcp-server-entry.ts';
import { virtualMcpServer } from './virtual-mcp-server.ts';

/**
 * Every kind that is reconciled, with a memory of its own for what was rendered and who refers to what. Their bundles
 * differ; whoever plans passes on what the same kind resolved.
 */
export const reconciledKinds = (): readonly ReconciledKind[] => {
  const contract = newContract();
  const kinds: readonly unknown[] = [mcpGroup, mcpServerEntry(contract), virtualMcpServer(contract)];
  return kinds as readonly ReconciledKind[];
};
