import type { KubeObject, ObjectKey } from '../object.ts';
import { type GroupBundle, planGroup } from '../plan/group.ts';
import type { Source } from '../read/source.ts';
import { MEMBER_KINDS, groupNameOf, resolveGroup } from '../resolve.ts';
import type { ReconciledKind } from './kind.ts';

const KIND = 'MCPGroup';

export const mcpGroup: ReconciledKind<GroupBundle> = {
  kind: KIND,
  owns: [],
  reads: MEMBER_KINDS,
  resolve,
  plan: planGroup,
  affectedBy,
};

function resolve(source: Source, key: ObjectKey): GroupBundle | undefined {
  const { group, members } = resolveGroup(source, key);
  return group === undefined || group.metadata.deletionTimestamp !== undefined
    ? undefined
    : Object.freeze({ group, members });
}

/** The group a member names, and those whose status still lists it: it may have moved. */
function affectedBy(source: Source, changed: KubeObject): readonly ObjectKey[] {
  const namespace = changed.metadata.namespace ?? '';
  return source
    .list(KIND, namespace)
    .filter((group) => groupNameOf(changed) === group.metadata.name || lists(group, changed.metadata.name))
    .map((group) => ({ kind: KIND, namespace, name: group.metadata.name }));
}

const lists = (group: KubeObject, name: string): boolean => {
  const status = (group['status'] ?? {}) as Partial<Record<string, readonly string[]>>;
  return ['servers', 'remoteProxies', 'entries'].some((list) => status[list]?.includes(name) === true);
};
