import { type Contract, newContract } from '../plan/contract.ts';
import { type EmbeddingServerBundle, planEmbeddingServer } from '../plan/embedding-server/plan-embedding-server.ts';
import { WITHOUT_DEGRADED } from '../plan/plan.ts';
import { childOf } from '../plan/workload/child.ts';
import { resolveStatefulSet, withPodCreationFailure } from '../read/resolve-workload.ts';
import { resolveReferences } from '../read/resolve.ts';
import type { ReconciledKind } from './kind.ts';
import { type Targets, memoizedTargets, namingOf } from './referrers.ts';

const KIND = 'EmbeddingServer';

export const embeddingServer = (
  contract: Contract = newContract(),
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<EmbeddingServerBundle> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf);
  return {
    kind: KIND,
    owns: ['Service', 'StatefulSet'],
    reads: [...named, 'Pod'],
    phasesWithProblems: WITHOUT_DEGRADED,
    resolve: (source, { namespace, name }) => {
      const server = source.get(KIND, namespace, name);
      if (server === undefined || server.metadata.deletionTimestamp !== undefined) return undefined;
      return Object.freeze({
        server,
        references: resolveReferences(source, server),
        workload: resolveStatefulSet(source, server, childOf(server).name),
      });
    },
    complete: async (bundle, reads) => ({
      ...bundle,
      workload: await withPodCreationFailure(bundle.workload, reads.podCreationFailure),
    }),
    plan: (bundle, settings) => planEmbeddingServer(bundle, { settings, contract }),
    affectedBy,
  };
};
