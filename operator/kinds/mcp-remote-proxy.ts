import { type Contract, newContract } from '../plan/contract.ts';
import { planRemoteProxy } from '../plan/front/plan-remote-proxy.ts';
import { WITHOUT_DEGRADED } from '../plan/plan.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { SERVED_KINDS, resolveServed } from '../read/resolve.ts';
import type { ReconciledKind } from './kind.ts';
import { type Targets, namingOf, targetsOnce } from './referrers.ts';
import { alikeOf, unsettled, withPolicies } from './served.ts';

const KIND = 'MCPRemoteProxy';

export const mcpRemoteProxy = (
  contract: Contract = newContract(),
  targetsOf: Targets = targetsOnce(),
): ReconciledKind<ServerBundle> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf, unsettled(['GroupResolved', 'SecretResolved']));
  return {
    kind: KIND,
    owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
    reads: [...new Set([...named, ...SERVED_KINDS.filter((kind) => kind !== KIND), 'ReplicaSet', 'Pod'])],
    phasesWithProblems: WITHOUT_DEGRADED,
    resolve: resolveServed,
    complete: withPolicies,
    plan: (bundle, settings) => planRemoteProxy(bundle, { settings, contract }),
    affectedBy: (source, changed) => [...alikeOf(KIND, source, changed), ...affectedBy(source, changed)],
  };
};
