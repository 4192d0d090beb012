import type { KubeObject, ObjectKey } from '../object.ts';
import { type Contract, newContract } from '../plan/contract.ts';
import { type EntryBundle, planEntry } from '../plan/entry.ts';
import { resolveReferences } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { ReconciledKind } from './kind.ts';
import { type Targets, namingOf, memoizedTargets } from './referrers.ts';

const KIND = 'MCPServerEntry';

export const mcpServerEntry = (
  contract: Contract = newContract(),
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<EntryBundle> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf);
  return {
    kind: KIND,
    owns: [],
    reads: named,
    resolve,
    plan: (bundle) => planEntry(bundle, contract),
    affectedBy,
  };
};

const resolve = (source: Source, key: ObjectKey): EntryBundle | undefined => {
  const entry: KubeObject | undefined = source.get(KIND, key.namespace, key.name);
  if (entry === undefined || entry.metadata.deletionTimestamp !== undefined) return undefined;
  return Object.freeze({ entry, references: resolveReferences(source, entry) });
};
