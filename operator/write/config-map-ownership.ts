import type { ApiClient } from '../api/client.ts';
import type { Cache } from '../cache/cache.ts';
import { type KubeObject, keyOf } from '../object.ts';
import { podsOf } from '../plan/workload/running-workload.ts';
import { mountsConfigMap } from './mounts.ts';

/**
 * Whether pods of this owner mount the ConfigMap that is planned under this name. Then it is ours, whatever another
 * writer has made of it: its name is a hash of the pod template, and the Deployment was applied only after the
 * ConfigMap was as planned.
 */
export const isMountedByOwner = (
  owner: KubeObject,
  { kind, metadata: { name } }: KubeObject,
  cache: Pick<Cache, 'controlledBy'>,
): boolean =>
  kind === 'ConfigMap' &&
  deploymentsOf(owner, cache)
    .flatMap((deployment) => [deployment, ...cache.controlledBy('ReplicaSet', deployment)])
    .some((workload) => mounts(workload, name));

const deploymentsOf = (owner: KubeObject, cache: Pick<Cache, 'controlledBy'>): readonly KubeObject[] =>
  cache.controlledBy('Deployment', owner);

const mounts = (workload: KubeObject, name: string): boolean => mountsConfigMap(podsOf(workload).spec, name);

/** Whether another writer has modified this ConfigMap in a way that an apply cannot undo. */
export const isModifiedByOthers = (child: KubeObject, existing: KubeObject): boolean => {
  if (child.kind !== 'ConfigMap') return false;
  const planned = new Set((child.metadata.ownerReferences ?? []).map(({ uid }) => uid));
  return (
    existing['immutable'] === true ||
    // A file is in one of the two, and both together have a bound.
    keysIn(existing, 'binaryData').length > 0 ||
    foreignKeys(child, existing).length > 0 ||
    // Of controllers there is one.
    (existing.metadata.ownerReferences ?? []).some(({ uid }) => !planned.has(uid))
  );
};

const foreignKeys = (child: KubeObject, existing: KubeObject): readonly string[] =>
  keysIn(existing, 'data').filter((key) => !keysIn(child, 'data').includes(key));

const keysIn = (object: KubeObject, field: string): readonly string[] => Object.keys(object[field] ?? {});

export interface RemoveConflictsDeps {
  readonly api: Pick<ApiClient, 'mergePatch' | 'remove'>;
  readonly cache: Pick<Cache, 'put' | 'controlledBy'>;
}

/** A child whose apply the modifications of another writer block. */
interface ConflictingChild {
  readonly owner: KubeObject;
  readonly child: KubeObject;
  readonly existing: KubeObject;
}

/**
 * Removes data, owners and labels of other writers. An immutable ConfigMap can only be made anew; where new pods mount
 * another one anyway (`replacedConfigMapUidOf`), its metadata alone is restored, which triggers the next reconcile.
 */
export const removeConflicts = async (
  { owner, child, existing }: ConflictingChild,
  { api, cache }: RemoveConflictsDeps,
  signal: AbortSignal,
): Promise<void> => {
  const key = keyOf(child);
  const { uid = '' } = existing.metadata;
  const { labels, ownerReferences } = child.metadata;
  const isImmutable = existing['immutable'] === true;
  if (isImmutable && !deploymentsOf(owner, cache).some((each) => mounts(each, key.name))) {
    await api.remove(key, uid, signal);
    return;
  }
  const content = isImmutable ? {} : { data: removalOf(foreignKeys(child, existing)), binaryData: null };
  cache.put(await api.mergePatch(key, { metadata: { uid, labels, ownerReferences }, ...content }, signal));
};

const removalOf = (keys: readonly string[]): Readonly<Record<string, null>> =>
  Object.fromEntries(keys.map((key) => [key, null]));
