/*
 * One file per reconciled kind: which objects it reads and owns, how its bundle is resolved and completed, which plan
 * is made of it, and which of its objects a change of another one concerns. A kind joins `read` and `plan`; it has no
 * rules and renders nothing itself. A new kind is one file here and one line in `reconciledKinds`.
 * Start with kind.ts, which says what a kind is.
 */

import { planCompositeTool } from '../plan/composite-tool.ts';
import { type Contract, newContract } from '../plan/contract.ts';
import { planSharedConfig } from '../plan/shared-config.ts';
import { embeddingServer } from './embedding-server.ts';
import type { ReconciledKind } from './kind.ts';
import { mcpGroup } from './mcp-group.ts';
import { mcpRemoteProxy } from './mcp-remote-proxy.ts';
import { mcpServerEntry } from './mcp-server-entry.ts';
import { mcpServer } from './mcp-server.ts';
import { memoizedTargets } from './referrers.ts';
import { type SharedConfigKind, sharedConfig } from './shared-config.ts';
import { virtualMcpServer } from './virtual-mcp-server.ts';

const SHARED: readonly SharedConfigKind[] = [
  { kind: 'MCPExternalAuthConfig', plan: planSharedConfig },
  { kind: 'MCPOIDCConfig', plan: planSharedConfig },
  { kind: 'MCPTelemetryConfig', plan: planSharedConfig },
  { kind: 'MCPToolConfig', plan: planSharedConfig },
  { kind: 'VirtualMCPCompositeToolDefinition', plan: planCompositeTool },
];

/**
 * Every kind that is reconciled, with its own caches of rendered files and of references. The type of a bundle differs
 * from kind to kind; a caller passes a bundle to the kind that resolved it.
 */
export const reconciledKinds = (contract: Contract = newContract()): readonly ReconciledKind[] => {
  const targetsOf = memoizedTargets();
  const kinds: readonly unknown[] = [
    ...SHARED.map((kind) => sharedConfig(kind, contract, targetsOf)),
    mcpGroup,
    mcpServerEntry(contract, targetsOf),
    mcpRemoteProxy(contract, targetsOf),
    mcpServer(contract, targetsOf),
    embeddingServer(contract, targetsOf),
    virtualMcpServer(contract, targetsOf),
  ];
  return kinds as readonly ReconciledKind[];
};
