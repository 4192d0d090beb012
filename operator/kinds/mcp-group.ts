import type { KubeObject, ObjectKey } from '../object.ts';
import { type GroupBundle, planGroup } from '../plan/group.ts';
import { MEMBER_KINDS, groupNameOf, resolveGroup } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { ReconciledKind } from './kind.ts';

const KIND = 'MCPGroup';

export const mcpGroup: ReconciledKind<GroupBundle> = {
  kind: KIND,
  owns: [],
  reads: MEMBER_KINDS,
  resolve,
  plan: planGroup,
  isPlannedInline: true,
  affectedBy,
};

function resolve(source: Source, key: ObjectKey): GroupBundle | undefined {
  const { group, members } = resolveGroup(source, key);
  return group === undefined || group.metadata.deletionTimestamp !== undefined
    ? undefined
    : Object.freeze({ group, members });
}

function affectedBy(_source: Source, changed: KubeObject): readonly ObjectKey[] {
  const name = groupNameOf(changed);
  const isMember = (MEMBER_KINDS as readonly string[]).includes(changed.kind);
  return isMember && name !== undefined ? [{ kind: KIND, namespace: changed.metadata.namespace ?? '', name }] : [];
}
