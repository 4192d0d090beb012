import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { type Contract, newContract } from '../plan/contract.ts';
import type { PlannedCondition } from '../plan/plan.ts';
import { lookedUpKinds } from '../plan/references.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { planServer } from '../plan/server/plan-server.ts';
import type { Source } from '../read/source.ts';
import { MEMBER_KINDS, groupNameOf, resolveServer } from '../resolve.ts';
import type { ReconciledKind } from './kind.ts';
import { type Referrers, referrers } from './referrers.ts';

const KIND = 'VirtualMCPServer';

export const virtualMcpServer = (contract: Contract = newContract()): ReconciledKind<ServerBundle> => {
  const named = lookedUpKinds(KIND);
  const withEffect = new Set([...named, ...MEMBER_KINDS]);
  const referrersOf = referrers(isUnsettled);
  return {
    kind: KIND,
    owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
    reads: [...named, ...MEMBER_KINDS.filter((kind) => !named.includes(kind)), 'ReplicaSet', 'Pod'],
    volatileStatus: ['lastHealthCheck', 'consecutiveFailures'],
    resolve: resolveServer,
    plan: (bundle, settings) => planServer(bundle, { settings, contract }),
    affectedBy: (source, changed) => (withEffect.has(changed.kind) ? affectedBy(source, changed, referrersOf) : []),
  };
};

/** Who refers to it, and who serves the group that it is a member of. */
const affectedBy = (source: Source, changed: KubeObject, referrersOf: Referrers): readonly ObjectKey[] => {
  const { kind, namespace, name } = keyOf(changed);
  const group = (MEMBER_KINDS as readonly string[]).includes(kind) ? groupNameOf(changed) : undefined;
  const servers = source.list(KIND, namespace);
  const affected = [
    ...referrersOf(servers, { kind, name }),
    ...(group === undefined ? [] : referrersOf(servers, { kind: 'MCPGroup', name: group })),
  ];
  return [...new Set(affected)].map(keyOf);
};

/**
 * It may be served from an accepted spec that names other objects than the newest one does: nobody has looked at the newest
 * yet, or it is invalid, or something that it names is missing. Such a server is told of everything.
 */
const isUnsettled = ({ metadata: { generation }, ...object }: KubeObject): boolean => {
  const status = object['status'] as
    | { readonly observedGeneration?: number; readonly conditions?: readonly PlannedCondition[] }
    | undefined;
  const facts = (status?.conditions ?? []).filter(({ type }) => type === 'Valid' || type.endsWith('Resolved'));
  return status?.observedGeneration !== generation || facts.some(({ status }) => status !== 'True');
};
