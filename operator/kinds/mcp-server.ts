import { type Contract, newContract } from '../plan/contract.ts';
import { type McpServerBundle, planMcpServer } from '../plan/mcp-server/plan-mcp-server.ts';
import { childOf } from '../plan/workload/child.ts';
import { resolveReferences } from '../resolve.ts';
import { resolveDeployment } from '../resolve-workload.ts';
import { type ReconciledKind, WITHOUT_DEGRADED } from './kind.ts';
import { namingOf } from './naming.ts';
import { type Targets, targetsOnce } from './referrers.ts';

const KIND = 'MCPServer';

export const mcpServer = (
  contract: Contract = newContract(),
  targetsOf: Targets = targetsOnce(),
): ReconciledKind<McpServerBundle> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf);
  return {
    kind: KIND,
    owns: ['ServiceAccount', 'Service', 'Deployment'],
    reads: [...named, 'ReplicaSet', 'Pod'],
    phasesWithProblems: WITHOUT_DEGRADED,
    resolve: (source, { namespace, name }) => {
      const server = source.get(KIND, namespace, name);
      if (server === undefined || server.metadata.deletionTimestamp !== undefined) return undefined;
      return Object.freeze({
        server,
        references: resolveReferences(source, server),
        workload: resolveDeployment(source, server, childOf(server).name),
      });
    },
    plan: (bundle, settings) => planMcpServer(bundle, { settings, contract }),
    affectedBy,
  };
};
