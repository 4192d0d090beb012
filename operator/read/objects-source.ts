import type { KubeObject } from '../object.ts';
import { referenceKind } from '../plan/references.ts';
import type { Source } from './source.ts';

/** A source over objects that are all at hand. Every kind may be asked for: what is not there does not exist. */
export const objectsSource = (objects: readonly KubeObject[]): Source => {
  const byKind = Map.groupBy(objects, ({ kind }) => kind);
  const inNamespace = (kind: string, namespace: string): readonly KubeObject[] =>
    (byKind.get(referenceKind(kind)) ?? []).filter(({ metadata }) => (metadata.namespace ?? '') === namespace);
  return {
    get: (kind, namespace, name) => inNamespace(kind, namespace).find(({ metadata }) => metadata.name === name),
    list: (kind, namespace) =>
      inNamespace(kind, namespace).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
  };
};
