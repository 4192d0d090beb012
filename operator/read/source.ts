/*
 * Where a reconcile reads from: the cache of a cluster (cluster.ts) or the manifests of a directory (directory.ts,
 * objects-source.ts), both behind `Source`. `resolve.ts` gathers from it everything that one plan needs into one frozen
 * bundle. Only why-no-pod.ts asks the API server.
 */

import type { PodReports } from '../plan/server/bundle.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { Violation } from '../validate/index.ts';
import type { Accepted } from '../plan/server/bundle.ts';

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
  brokenRuleOf?(object: KubeObject): Violation | undefined;
  /** Until `brokenRuleOf` has nothing left to find out about this namespace. */
  settled?(namespace: string): Promise<void>;
  /**
   * What the pods of a server last said of themselves, by pod name; absent where nobody asks pods (a directory,
   * goldens).
   */
  reports?(owner: ObjectKey): PodReports;
  /** The last good spec of a server where no ConfigMap remembers it (local mode). */
  accepted?(owner: ObjectKey): Accepted | undefined;
  /** The last accepted spec of this server that was ever proven here, given what its ConfigMaps prove now. */
  lastProven?(server: KubeObject, proven: Accepted | undefined): Accepted | undefined;
}
