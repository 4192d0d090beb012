import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { planServer } from '../plan/server/plan-server.ts';
import type { Source } from '../read/source.ts';
import { MEMBER_KINDS, type ServerBundle, groupNameOf, refersTo, resolveServer } from '../resolve.ts';
import type { ReconciledKind } from './kind.ts';

const KIND = 'VirtualMCPServer';

export const virtualMcpServer: ReconciledKind<ServerBundle> = {
  kind: KIND,
  owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
  reads: ['MCPGroup', ...MEMBER_KINDS, 'ReplicaSet', 'Pod'],
  volatileStatus: ['lastHealthCheck', 'consecutiveFailures'],
  resolve: resolveServer,
  plan: planServer,
  affectedBy,
};

function affectedBy(source: Source, changed: KubeObject): readonly ObjectKey[] {
  if (!KINDS_WITH_EFFECT.has(changed.kind)) return [];
  const servers = source.list(KIND, changed.metadata.namespace ?? '');
  return servers.filter((server) => isAffected(server, changed)).map(keyOf);
}

const KINDS_WITH_EFFECT: ReadonlySet<string> = new Set(['MCPGroup', ...MEMBER_KINDS]);

/** By a reference that the schema knows, by joining the same group, or because it is served from a spec nobody sees here. */
const isAffected = (server: KubeObject, changed: KubeObject): boolean =>
  refersTo(server, changed) || groupNameOf(changed) === groupNameOf(server) || isServedFromLastGood(server);

/** The accepted spec may name another group than the newest. */
const isServedFromLastGood = (server: KubeObject): boolean => {
  const status = server['status'] as { readonly conditions?: readonly { readonly reason: string }[] } | undefined;
  return status?.conditions?.some(({ reason }) => reason === 'LastGoodSpecServes') === true;
};
