/*
 * The one client of the API server: HTTP, credentials, rate limit, and the paths of resources. Objects are raw JSON, so
 * that a field which this release does not know survives. Every answer that is no success is thrown as an `ApiError`
 * (errors.ts). rbac.ts lists the RBAC rules that all of this takes.
 * Start with `ApiClient` below; transport.ts makes the HTTP requests.
 */

import type { ClusterIssuer } from '../plan/settings.ts';
import { clusterIssuer } from './cluster-issuer.ts';
import { isConflict, isInternal, isMalformed, isNotFound, isTooLarge } from './errors.ts';
import { lister, type ObjectList } from './list.ts';
import { ownServiceAccount } from './own-service-account.ts';
import { collectionPath, objectPath, resourceOf } from './resources.ts';
import type { Resource, ResourceTable } from './resources.ts';
import { acceptOf, type Selection } from './selection.ts';
import type { Call, Transport } from './transport.ts';
import { watchEvents } from './watch.ts';
import type { WatchEvent } from './watch.ts';
import { fieldManager, keyOf } from '../object.ts';
import type { KubeObject, ObjectKey, ObjectMeta, OwnerReference } from '../object.ts';

export type { ObjectList } from './list.ts';

/** The API server as this operator uses it: raw JSON in and out, so a field we do not know survives. */
export interface ApiClient {
  /** Who issues the service-account tokens of the cluster; undefined when we may not know. */
  clusterIssuer(signal: AbortSignal): Promise<ClusterIssuer | undefined>;
  /** Undefined when there is no such object. */
  get(key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** The same of its metadata: nothing else of it crosses the wire. */
  getMetadata(key: ObjectKey, signal: AbortSignal): Promise<ObjectMeta | undefined>;
  /** `keep` makes of each object what is wanted of it, before the next ones come. Default: all of it. */
  list(selection: Selection, signal: AbortSignal, keep?: (object: KubeObject) => KubeObject): Promise<ObjectList>;
  /** Ends when the server ends it; throws `ApiError` 410 when `resourceVersion` is too old. */
  watch(selection: Selection, resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /**
   * Server-side apply with force: fields it names become the manager's (default: ours), whichever manager held
   * them. An object that does not fit its type is answered as malformed (400, 422), not as the internal error that the
   * server makes of it.
   */
  apply(object: KubeObject, signal: AbortSignal, manager?: string): Promise<KubeObject>;
  /** Applies an object that does not exist yet; undefined where one of its name exists, which stays as it is. */
  applyNew(object: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined>;
  applyStatus(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  create(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  /** Creates an object that is owned by the operator's own service account, if that is in the same namespace. */
  createOwned(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  /** Optimistic: answers 409 unless `metadata.resourceVersion` is the newest. */
  replace(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  mergePatch(key: ObjectKey, patch: object, signal: AbortSignal): Promise<KubeObject>;
  /** Deletes exactly the object with this uid, in the background; one that is gone already counts as deleted. */
  remove(key: ObjectKey, uid: string, signal: AbortSignal): Promise<void>;
}

/**
 * With `isDryRun` the server is asked what patches and applies would lead to and stores nothing of them; the other
 * writes are what they are.
 */
export const apiClient = (
  transport: Transport,
  table: ResourceTable,
  { isDryRun }: { readonly isDryRun: boolean } = { isDryRun: false },
): ApiClient => {
  const mode = isDryRun ? { dryRun: 'All' } : {};
  const pathOf = (key: ObjectKey): string => objectPath(resourceOf(table, key.kind), key);
  const applyAt = async (
    path: string,
    object: KubeObject,
    signal: AbortSignal,
    manager = fieldManager,
  ): Promise<KubeObject> =>
    (await transport.json(
      {
        verb: 'apply',
        kind: object.kind,
        method: 'PATCH',
        path,
        query: { ...mode, fieldManager: manager, force: true },
        contentType: 'application/apply-patch+yaml',
        body: object,
      },
      signal,
    )) as KubeObject;
  const asNew = (object: KubeObject): NewObject => ({ resource: resourceOf(table, object.kind), object });
  const create: ApiClient['create'] = (object, signal) => createObject(transport, asNew(object), signal);
  return {
    clusterIssuer: (signal) => clusterIssuer(transport, signal),
    get: (key, signal) => getOrUndefined(transport, { kind: key.kind, path: pathOf(key) }, signal),
    getMetadata: (key, signal) => getMetadata(transport, { kind: key.kind, path: pathOf(key) }, signal),
    list: lister(transport, table),
    watch: (selection, resourceVersion, signal) =>
      watchEvents(transport, { resource: resourceOf(table, selection.kind), selection, resourceVersion }, signal),
    apply: (object, signal, manager) =>
      withMalformedReason(transport, asNew(object), signal, applyAt(pathOf(keyOf(object)), object, signal, manager)),
    applyNew: (object, signal) => {
      const applied = applyAt(pathOf(keyOf(object)), withUnusedVersion(object), signal);
      return unlessExists(withMalformedReason(transport, asNew(object), signal, applied));
    },
    applyStatus: (object, signal) => applyAt(`${pathOf(keyOf(object))}/status`, object, signal),
    create,
    createOwned: async (object, signal) =>
      create(withOwner(object, await ownServiceAccount(transport, object.metadata.namespace ?? '', signal)), signal),
    replace: async (object, signal) => {
      const does = { verb: 'update', kind: object.kind, method: 'PUT' } as const;
      const call = { ...does, path: pathOf(keyOf(object)), query: { fieldManager }, body: object };
      return (await transport.json(call, signal)) as KubeObject;
    },
    mergePatch: async (key, patch, signal) => {
      const contentType = 'application/merge-patch+json';
      const does = { verb: 'patch', kind: key.kind, method: 'PATCH' } as const;
      const call = { ...does, path: pathOf(key), query: { ...mode, fieldManager }, contentType, body: patch };
      return (await transport.json(call, signal)) as KubeObject;
    },
    remove: (key, uid, signal) => removeExactly(transport, { kind: key.kind, path: pathOf(key), uid }, signal),
  };
};

/** No stored object has this version: an apply that names it creates the object, or gets 409 where one exists. */
const withUnusedVersion = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '1' },
});

const unlessExists = async (applied: Promise<KubeObject>): Promise<KubeObject | undefined> => {
  try {
    return await applied;
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
};

/** An object, and where those of its kind are. */
interface NewObject {
  readonly resource: Resource;
  readonly object: KubeObject;
}

const createObject = async (
  transport: Transport,
  { resource, object }: NewObject,
  signal: AbortSignal,
  mode: Readonly<Record<string, string>> = {},
): Promise<KubeObject> => {
  const path = collectionPath(resource, object.metadata.namespace ?? '');
  const does = { verb: 'create', kind: object.kind, method: 'POST' } as const;
  const call = { ...does, path, query: { ...mode, fieldManager }, body: object };
  return (await transport.json(call, signal)) as KubeObject;
};

const withOwner = (object: KubeObject, owner: OwnerReference | undefined): KubeObject =>
  owner === undefined ? object : { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };

const withMalformedReason = async (
  transport: Transport,
  created: NewObject,
  signal: AbortSignal,
  applied: Promise<KubeObject>,
): Promise<KubeObject> => {
  try {
    return await applied;
  } catch (error) {
    if (isInternal(error) && !isTooLarge(error)) await askWhatIsMalformed(transport, created, signal);
    throw error;
  }
};

/** A server-side apply cannot tell a wrong type from a fault of the server, but a create that is never stored can. */
const askWhatIsMalformed = async (transport: Transport, created: NewObject, signal: AbortSignal): Promise<void> => {
  try {
    await createObject(transport, created, signal, { dryRun: 'All', fieldValidation: 'Strict' });
  } catch (error) {
    if (isMalformed(error)) throw error;
  }
};

const getOrUndefined = async (
  transport: Transport,
  asked: Pick<Call, 'kind' | 'path'> & { readonly accept?: string },
  signal: AbortSignal,
): Promise<KubeObject | undefined> => {
  try {
    return (await transport.json({ verb: 'get', method: 'GET', ...asked }, signal)) as KubeObject;
  } catch (error) {
    if (isNotFound(error)) {
      return undefined;
    }
    throw error;
  }
};

const getMetadata = async (
  transport: Transport,
  { kind, path }: Pick<Call, 'kind' | 'path'>,
  signal: AbortSignal,
): Promise<ObjectMeta | undefined> => {
  const accept = acceptOf({ kind, namespace: '', metadataOnly: true }, 'PartialObjectMetadata');
  return (await getOrUndefined(transport, { kind, path, accept }, signal))?.metadata;
};

const removeExactly = async (
  transport: Transport,
  { kind, path, uid }: { readonly kind: string; readonly path: string; readonly uid: string },
  signal: AbortSignal,
): Promise<void> => {
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions: { uid } };
  try {
    await transport.json({ verb: 'delete', kind, method: 'DELETE', path, body }, signal);
  } catch (error) {
    if (!isNotFound(error)) {
      throw error;
    }
  }
};
