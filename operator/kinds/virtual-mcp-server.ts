import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { planServer } from '../plan/server/plan-server.ts';
import type { Source } from '../read/source.ts';
import { MEMBER_KINDS, type ServerBundle, groupNameOf, resolveServer } from '../resolve.ts';
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
  const servers = source.list(KIND, changed.metadata.namespace ?? '');
  return servers.filter((server) => concerns(changed, server)).map(keyOf);
}

const concerns = (changed: KubeObject, server: KubeObject): boolean => {
  switch (changed.kind) {
    case 'MCPGroup':
      return groupNameOf(server) === changed.metadata.name;
    case 'Pod':
    case 'ReplicaSet':
      return changed.metadata.labels?.['app.kubernetes.io/instance'] === server.metadata.name && isOurs(changed);
    default:
      return groupNameOf(changed) === groupNameOf(server) || lists(server, changed.metadata.name);
  }
};

const isOurs = (object: KubeObject): boolean =>
  object.metadata.labels?.['app.kubernetes.io/component'] === KIND.toLowerCase();

/** A member that moved to another group names only the new one; status still knows the old. */
const lists = (server: KubeObject, name: string): boolean => {
  const status = server['status'] as { readonly discoveredBackends?: readonly { readonly name: string }[] } | undefined;
  return status?.discoveredBackends?.some((backend) => backend.name === name) === true;
};
