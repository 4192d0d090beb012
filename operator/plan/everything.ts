import { reconciledKinds } from '../kinds/index.ts';
import { type KubeObject, keyOf } from '../object.ts';
import type { Source } from '../read/source.ts';
import type { Plan } from './plan.ts';
import type { Settings } from './settings.ts';

/** An object and what one reconcile makes of it. */
export interface Planned {
  readonly object: KubeObject;
  readonly plan: Plan;
}

/** Plans of all objects of the reconciled kinds in the given namespaces: by kind, then namespace, then name. */
export const planEverything = (source: Source, namespaces: readonly string[], settings: Settings): readonly Planned[] =>
  reconciledKinds.flatMap((kind) =>
    namespaces
      .toSorted()
      .flatMap((namespace) => source.list(kind.kind, namespace))
      .flatMap((object) => {
        const bundle = kind.resolve(source, keyOf(object));
        return bundle === undefined ? [] : [{ object, plan: kind.plan(bundle, settings) }];
      }),
  );

export const namespacesOf = (objects: readonly KubeObject[]): readonly string[] => [
  ...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])),
];
