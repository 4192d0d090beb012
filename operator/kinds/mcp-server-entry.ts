import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { type EntryBundle, planEntry } from '../plan/entry.ts';
import type { Source } from '../read/source.ts';
import { groupNameOf, refersTo } from '../resolve.ts';
import type { ReconciledKind } from './kind.ts';

const KIND = 'MCPServerEntry';

export const mcpServerEntry: ReconciledKind<EntryBundle> = {
  kind: KIND,
  owns: [],
  reads: ['MCPGroup'],
  resolve,
  plan: planEntry,
  affectedBy,
};

function resolve(source: Source, key: ObjectKey): EntryBundle | undefined {
  const entry: KubeObject | undefined = source.get(KIND, key.namespace, key.name);
  if (entry === undefined || entry.metadata.deletionTimestamp !== undefined) return undefined;
  const groupName = groupNameOf(entry) ?? '';
  return Object.freeze({ entry, groupName, hasGroup: source.get('MCPGroup', key.namespace, groupName) !== undefined });
}

function affectedBy(source: Source, changed: KubeObject): readonly ObjectKey[] {
  if (changed.kind !== 'MCPGroup') return [];
  const entries = source.list(KIND, changed.metadata.namespace ?? '');
  return entries.filter((entry) => refersTo(entry, changed)).map(keyOf);
}
