import { type Contract, newContract } from '../plan/contract.ts';
import { planRemoteProxy } from '../plan/front/plan-remote-proxy.ts';
import { WITHOUT_DEGRADED } from '../plan/plan.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { SERVED_KINDS, resolveServed } from '../read/resolve.ts';
import type { ReconciledKind } from './kind.ts';
import { type Targets, namingOf, memoizedTargets } from './referrers.ts';
import { sharingServersOf, mayServeAcceptedSpec, withPolicies } from './served.ts';

const KIND = 'MCPRemoteProxy';

export const mcpRemoteProxy = (
  contract: Contract = newContract(),
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<ServerBundle> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf, mayServeAcceptedSpec(['GroupResolved', 'SecretResolved']));
  return {
    kind: KIND,
    owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
    reads: [...new Set([...named, ...SERVED_KINDS.filter((kind) => kind !== KIND), 'ReplicaSet', 'Pod'])],
    phasesWithProblems: WITHOUT_DEGRADED,
    resolve: resolveServed,
    complete: withPolicies,
    plan: (bundle, settings) => planRemoteProxy(bundle, { settings, contract }),
    affectedBy: (source, changed) => [...sharingServersOf(KIND, source, changed), ...affectedBy(source, changed)],
  };
};
