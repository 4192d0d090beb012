import type { KubeObject } from '../object.ts';
import { lookedUpReferences } from '../plan/references.ts';

/** What is referred to. */
interface Target {
  readonly kind: string;
  readonly name: string;
}

export type Referrers = (objects: readonly KubeObject[], target: Target) => readonly KubeObject[];

/** Kind and name → the objects that refer to it. */
type Index = ReadonlyMap<string, readonly KubeObject[]>;

/**
 * Which objects of a list, all of one namespace, refer to a target. A list is indexed once and an object walked once:
 * neither changes in place, and the cache hands out the same list until something in it changes. An object that
 * `hearsOfAll` is among the referrers of everything.
 */
export const referrers = (hearsOfAll: (object: KubeObject) => boolean = () => false): Referrers => {
  const walked = new WeakMap<KubeObject, readonly string[]>();
  const indexes = new WeakMap<readonly KubeObject[], Index>();
  const targetsOf = (object: KubeObject): readonly string[] => {
    const known = walked.get(object) ?? lookedUpReferences(object).map(textOf);
    walked.set(object, known);
    return hearsOfAll(object) ? [ALL] : known;
  };
  const indexOf = (objects: readonly KubeObject[]): Index => {
    const known = indexes.get(objects) ?? indexed(objects, targetsOf);
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

const indexed = (objects: readonly KubeObject[], targetsOf: (object: KubeObject) => readonly string[]): Index => {
  const index = new Map<string, KubeObject[]>();
  for (const object of objects) {
    for (const target of new Set(targetsOf(object))) {
      const known = index.get(target);
      if (known === undefined) index.set(target, [object]);
      else known.push(object);
    }
  }
  return index;
};
