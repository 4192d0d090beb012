import { kinds, referredKinds } from '../../crds/index.ts';
import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { lookedUpKinds, lookedUpReferences, referenceKind } from '../plan/references.ts';
import type { Source } from '../read/source.ts';

/** What is referred to. */
interface Target {
  readonly kind: string;
  readonly name: string;
}

/** Those of the objects that refer to the target. */
export type Referrers = (objects: readonly KubeObject[], target: Target) => readonly KubeObject[];

/** What an object refers to. */
export type Targets = (object: KubeObject) => readonly Target[];

/** Walks each object once: objects never change in place. */
export const memoizedTargets = (): Targets => {
  const walked = new WeakMap<KubeObject, readonly Target[]>();
  return (object) => {
    const known = walked.get(object) ?? lookedUpReferences(object);
    walked.set(object, known);
    return known;
  };
};

/** Kind and name → the objects that refer to it. */
type Index = ReadonlyMap<string, readonly KubeObject[]>;

/**
 * Which objects of a list, all of one namespace, refer to a target. A list is indexed once: it does not change in
 * place, and the cache hands out the same one until something in it changes. An object that `hearsOfAll` is among the
 * referrers of everything.
 */
export const referrers = (
  targetsOf: Targets = memoizedTargets(),
  hearsOfAll: (object: KubeObject) => boolean = () => false,
): Referrers => {
  const indexes = new WeakMap<readonly KubeObject[], Index>();
  const keysOf = (object: KubeObject): readonly string[] =>
    hearsOfAll(object) ? [ALL] : targetsOf(object).map(textOf);
  const indexOf = (objects: readonly KubeObject[]): Index => {
    const known = indexes.get(objects) ?? indexed(objects, keysOf);
    indexes.set(objects, known);
    return known;
  };
  return (objects, target) => {
    const index = indexOf(objects);
    return [...(index.get(textOf(target)) ?? []), ...(index.get(ALL) ?? [])];
  };
};

/** No kind is called that. */
const ALL = '*';

const textOf = ({ kind, name }: Target): string => `${kind}/${name}`;

const indexed = (objects: readonly KubeObject[], keysOf: (object: KubeObject) => readonly string[]): Index => {
  const index = new Map<string, KubeObject[]>();
  for (const object of objects) {
    for (const target of new Set(keysOf(object))) {
      const known = index.get(target);
      if (known === undefined) index.set(target, [object]);
      else known.push(object);
    }
  }
  return index;
};

export interface Naming {
  /** The kinds, as a source has them, that objects of `kind` may name. */
  readonly named: readonly string[];
  /** The objects of `kind` that name the one that changed. */
  readonly affectedBy: (source: Source, changed: KubeObject) => readonly ObjectKey[];
}

/**
 * The references of objects of this kind, and which of them refer to a changed object; an object that `hearsOfAll` is
 * affected by every change.
 */
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

/** Every kind whose schema lets it name objects of `kind`, in alphabetical order. */
export const kindsNaming = (kind: string): readonly string[] =>
  Object.keys(kinds).filter((each) => referredKinds(each).includes(kind));

/** Every object that names this one and is not on its way out: by kind, then name. */
export const usersOf = (source: Source, { kind, namespace, name }: ObjectKey, referrersOf: Referrers) =>
  kindsNaming(kind)
    .flatMap((user): readonly KubeObject[] => referrersOf(source.list(user, namespace), { kind, name }))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
