/*
 * What the operator watches, in memory: informers that list and watch, stores that answer `get` and `list` at once.
 * Objects are trimmed to what plans read (trim.ts) and bounded per namespace (memory-budget.ts), for their authors
 * decide how large they are. Objects never change in place.
 * Start with `clusterCache` below, then informer.ts and store.ts.
 */

import { METADATA_ONLY, OUTLINED, type Selection } from '../api/selection.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import { type Controlled, isControlledBy } from '../read/controlled.ts';
import { type InformerDeps, inform } from './informer.ts';
import { MemoryBudget } from './memory-budget.ts';
import { type Change, Store } from './store.ts';
import { cacheable } from './trim.ts';

/** Everything the operator watches, in memory. */
export interface Cache {
  /** Throws for a kind that is not watched: a missing watch must not look like a missing object. */
  readonly get: (key: ObjectKey) => KubeObject | undefined;
  readonly list: (kind: string, namespace: string) => readonly KubeObject[];
  /** Of all namespaces that are watched. */
  readonly all: (kind: string) => readonly KubeObject[];
  /** Objects of the kind that this owner controls. */
  readonly controlledBy: Controlled;
  /** Takes the API server's answer to a write, so that the next reconcile sees it before the watch delivers it. */
  readonly put: (object: KubeObject) => void;
  /** Takes the whole of an object, as it was just read, of which only the outline is watched. */
  readonly fill: (object: KubeObject) => void;
  /** Watches until `signal` is aborted. */
  readonly start: (signal: AbortSignal) => { readonly synced: Promise<void>; readonly ended: Promise<void> };
}

/** What of the cluster is watched. */
export interface CacheOptions {
  readonly kinds: readonly string[];
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
}

/** Of these kinds only what the operator's own label marks is watched: a cluster is full of others. */
const onlyOurs = new Set([
  'ConfigMap',
  'Deployment',
  'NetworkPolicy',
  'Pod',
  'ReplicaSet',
  'Role',
  'RoleBinding',
  'Service',
  'ServiceAccount',
  'StatefulSet',
]);

/** One store and one watch for each kind and namespace; nothing is sent before `start`. */
export const clusterCache = (
  options: CacheOptions,
  deps: InformerDeps & { readonly onChange: (change: Change) => void },
): Cache => {
  const budget = new MemoryBudget();
  const admit = (object: KubeObject): KubeObject => budget.admit(object);
  const stores = new Map(options.kinds.map((kind) => [kind, new Store(deps.onChange, { kind, budget })]));
  const storeOf = (kind: string): Store => {
    const store = stores.get(kind);
    if (store === undefined) {
      throw new Error(`${kind} is read but not watched`);
    }
    return store;
  };
  return {
    get: (key) => storeOf(key.kind).get(key.namespace, key.name),
    list: (kind, namespace) => storeOf(kind).list(namespace),
    all: (kind) => storeOf(kind).all(),
    controlledBy: (kind, owner) =>
      storeOf(kind)
        .ownedBy(owner.metadata.uid ?? '')
        .filter((object) => isControlledBy(object, owner)),
    put: (object) => storeOf(object.kind).putWriteResult(admit(cacheable(object))),
    fill: (object) => storeOf(object.kind).putWriteResult(admit(cacheable(object))),
    start: (signal) => {
      const informers = [...stores].flatMap(([kind, store]) =>
        selectionsOf(kind, options.namespaces).map((selection) => inform(selection, store, { ...deps, admit }, signal)),
      );
      return {
        synced: Promise.all(informers.map(({ synced }) => synced)).then(() => {}),
        ended: Promise.all(informers.map(({ ended }) => ended)).then(() => {}),
      };
    },
  };
};

const ours = 'app.kubernetes.io/managed-by';

const selectionsOf = (kind: string, namespaces: readonly string[]): readonly Selection[] =>
  (namespaces.length === 0 ? [''] : namespaces).map((namespace) => ({
    kind,
    namespace,
    ...(onlyOurs.has(kind) ? { labelSelector: `${ours}=vmcp-operator` } : {}),
    ...(kind === 'AnyConfigMap' ? { labelSelector: `${ours}!=vmcp-operator` } : {}),
    ...(METADATA_ONLY.has(kind) || OUTLINED.has(kind) ? { metadataOnly: true } : {}),
  }));
