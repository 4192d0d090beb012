import type { ApiClient } from '../api/client.ts';
import type { Selection } from '../api/selection.ts';
import type { Cache } from '../cache/cache.ts';
import { type KubeObject, keyOf, keyText } from '../object.ts';
import { podsOf } from '../plan/workload/running-workload.ts';
import { mountsConfigMap } from './mounts.ts';

export interface PruneDeps {
  readonly api: Pick<ApiClient, 'list' | 'remove'>;
  readonly cache: Pick<Cache, 'list' | 'controlledBy'>;
}

/** The children that an owner is to have. */
export interface Planned {
  /** That the owner may have children of. */
  readonly kinds: readonly string[];
  readonly objects: readonly KubeObject[];
  readonly isPrunable: (child: KubeObject) => boolean;
}

/**
 * Removes children that are no longer planned; one that cannot be removed keeps no other, and the first error is
 * thrown at the end. A ConfigMap stays while any ReplicaSet names it: pods of an older revision, or a rollback to it,
 * still mount it (docs/decisions.md "Config in the cluster").
 */
export const prune = async (
  owner: KubeObject,
  planned: Planned,
  deps: PruneDeps,
  signal: AbortSignal,
): Promise<void> => {
  const kept = new Set(planned.objects.map((object) => keyText(keyOf(object))));
  const unplanned = planned.kinds
    .flatMap((kind) => deps.cache.controlledBy(kind, owner))
    .filter((object) => !kept.has(keyText(keyOf(object))) && planned.isPrunable(object))
    .filter((object) => object.metadata.deletionTimestamp === undefined);
  const errors: unknown[] = [];
  for (const object of unplanned) {
    try {
      await removeUnlessNamed(object, deps, signal);
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
};

const removeUnlessNamed = async (object: KubeObject, deps: PruneDeps, signal: AbortSignal): Promise<void> => {
  if (!(await isStillNamed(object, deps, signal))) {
    await deps.api.remove(keyOf(object), object.metadata.uid ?? '', signal);
  }
};

const isStillNamed = async (object: KubeObject, deps: PruneDeps, signal: AbortSignal): Promise<boolean> => {
  if (object.kind !== 'ConfigMap') {
    return false;
  }
  const { namespace = '', name } = object.metadata;
  const isNaming = (replicaSet: KubeObject): boolean => mountsConfigMap(podsOf(replicaSet).spec, name);
  if (deps.cache.list('ReplicaSet', namespace).some(isNaming)) {
    return true;
  }
  // The cache may lag behind the rollout that made a ReplicaSet a moment ago.
  return isAnyInCluster({ kind: 'ReplicaSet', namespace }, isNaming, deps.api, signal);
};

/**
 * Looks at one object after another, as far as the first one that is meant: together they may be larger than memory.
 */
const isAnyInCluster = async (
  selection: Selection,
  isMeant: (object: KubeObject) => boolean,
  api: PruneDeps['api'],
  signal: AbortSignal,
): Promise<boolean> => {
  const found = new AbortController();
  const look = ({ apiVersion, kind, metadata: { namespace, name }, ...content }: KubeObject): KubeObject => {
    const named = { apiVersion, kind, metadata: { ...(namespace !== undefined && { namespace }), name } };
    if (isMeant({ ...named, ...content })) found.abort();
    return named;
  };
  try {
    await api.list(selection, AbortSignal.any([signal, found.signal]), look);
  } catch (error) {
    signal.throwIfAborted();
    if (!found.signal.aborted) throw error;
  }
  return found.signal.aborted;
};
