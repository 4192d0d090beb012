/*
 * Where a reconcile reads from: the cache of a cluster (cluster.ts) or the manifests of a directory (directory.ts,
 * objects-source.ts), both behind `Source`. `resolve.ts` gathers from it everything that one plan needs into one frozen
 * bundle. Only why-no-pod.ts asks the API server.
 */

import type { KubeObject, ObjectKey } from '../object.ts';
import { referenceKind } from '../plan/references.ts';
import type { Accepted, PodReports } from '../plan/server/bundle.ts';
import type { Violation } from '../validate/index.ts';

/**
 * Where `resolve` reads from: the informers of a cluster or the manifests of a directory. Synchronous, because both
 * hold what they know in memory; a kind that is not watched throws, so that a missing watch cannot look like a missing
 * object.
 */
export interface Source {
  get(kind: string, namespace: string, name: string): KubeObject | undefined;
  /** All objects of the kind in the namespace, in name order. */
  list(kind: string, namespace: string): readonly KubeObject[];
  /** The first rule that an object breaks, where that is remembered. */
  firstViolationOf?(object: KubeObject): Violation | undefined;
  /** Until `firstViolationOf` has nothing left to find out about this namespace. */
  settled?(namespace: string): Promise<void>;
  /** The last reports of a server's pods, by pod name; absent where pods are not polled (a directory, goldens). */
  reports?(owner: ObjectKey): PodReports;
  /** The last good spec of a server where no ConfigMap remembers it (local mode). */
  accepted?(owner: ObjectKey): Accepted | undefined;
  /** The last accepted spec of this server that was ever verified here, given what its ConfigMaps verify now. */
  lastVerified?(server: KubeObject, proven: Accepted | undefined): Accepted | undefined;
}

interface ClusterDeps {
  readonly get: (key: ObjectKey) => KubeObject | undefined;
  readonly list: (kind: string, namespace: string) => readonly KubeObject[];
  readonly reports: (owner: ObjectKey) => PodReports;
  readonly firstViolationOf: (object: KubeObject) => Violation | undefined;
  readonly settled: (namespace: string) => Promise<void>;
  readonly lastVerified: (server: KubeObject, proven: Accepted | undefined) => Accepted | undefined;
}

/** Reads from what the informers hold. */
export const clusterSource = (deps: ClusterDeps): Source => ({
  get: (kind, namespace, name) => deps.get({ kind, namespace, name }),
  list: deps.list,
  reports: deps.reports,
  lastVerified: deps.lastVerified,
  firstViolationOf: deps.firstViolationOf,
  settled: deps.settled,
});

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
