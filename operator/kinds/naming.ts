import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { lookedUpKinds, referenceKind } from '../plan/references.ts';
import type { Source } from '../read/source.ts';
import { type Targets, referrers } from './referrers.ts';

export interface Naming {
  /** The kinds, as a source has them, that objects of `kind` may name. */
  readonly named: readonly string[];
  /** The objects of `kind` that name the one that changed. */
  readonly affectedBy: (source: Source, changed: KubeObject) => readonly ObjectKey[];
}

/** What objects of this kind name, and who of them names something; one that `hearsOfAll` is told of everything. */
export const namingOf = (kind: string, targetsOf: Targets, hearsOfAll?: (object: KubeObject) => boolean): Naming => {
  const named = lookedUpKinds(kind);
  const referrersOf = referrers(targetsOf, hearsOfAll);
  return {
    named,
    affectedBy: (source, changed) => {
      if (!named.includes(changed.kind)) return [];
      const { namespace, name } = keyOf(changed);
      return referrersOf(source.list(kind, namespace), { kind: referenceKind(changed.kind), name }).map(keyOf);
    },
  };
};
