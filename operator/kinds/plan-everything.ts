import { type KubeObject, keyOf } from '../object.ts';
import type { Plan } from '../plan/plan.ts';
import type { Settings } from '../plan/settings.ts';
import type { Source } from '../read/source.ts';
import type { ReconciledKind } from './kind.ts';

/** An object and what one reconcile makes of it. */
export interface Planned {
  readonly object: KubeObject;
  readonly plan: Plan;
}

/** A directory of manifests, or whatever else is looked at whole. */
export interface ManifestSet {
  readonly source: Source;
  readonly namespaces: readonly string[];
}

/** read → resolve → plan for all objects of these kinds: by kind, then namespace, then name. */
export const planEverything = (
  kinds: readonly ReconciledKind[],
  { source, namespaces }: ManifestSet,
  settings: Settings,
): readonly Planned[] =>
  kinds.flatMap((kind) =>
    namespaces
      .toSorted()
      .flatMap((namespace) => source.list(kind.kind, namespace))
      .flatMap((object) => {
        const bundle = kind.resolve(source, keyOf(object), settings.mac);
        return bundle === undefined ? [] : [{ object, plan: kind.plan(bundle, settings) }];
      }),
  );

/** The namespaces of the objects, each once. */
export const namespacesOf = (objects: readonly KubeObject[]): readonly string[] => [
  ...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])),
];
