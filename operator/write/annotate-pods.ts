import type { ApiClient } from '../api/client.ts';
import { isNotFound } from '../api/errors.ts';
import { isOutline } from '../cache/held-metadata.ts';
import { type KubeObject, keyOf } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';
import { type Mount, mountsOf } from './mounts.ts';

/** Hash of the files that a pod mounts; a change of it makes the kubelet refresh them at once. */
export const configHashAnnotation = 'vmcp.dev/config-hash';

/** The hash that a pod is to be annotated with. */
export interface PodAnnotation {
  readonly pod: KubeObject;
  readonly hash: string;
}

/** What pods may mount. */
export interface Mountable {
  /** Those of the server, whole. */
  readonly configMaps: readonly KubeObject[];
  /** Of Secrets, and of the ConfigMaps of others, the metadata is known. */
  readonly metadataOf: (kind: 'AnyConfigMap' | 'Secret', name: string) => KubeObject | undefined;
}

/**
 * Running pods whose mounted files may have changed since they were created, and that are not annotated with the
 * present content. A changed annotation makes the kubelet refresh the volumes of the pod at once; otherwise that takes
 * up to a minute.
 */
export const podsToAnnotate = (mountable: Mountable, pods: readonly KubeObject[]): readonly PodAnnotation[] =>
  pods.flatMap((pod) => {
    // In whole seconds: what changed in the second in which the pod was made may have come after it.
    const isChanged = (object: KubeObject): boolean => changedAt(object) >= (pod.metadata.creationTimestamp ?? '');
    const seen = mountsOf(pod['spec']).flatMap((mount) => {
      const object = mountedObject(mountable, mount);
      return object === undefined ? [] : [{ object, keys: mount.keys }];
    });
    // The object has changed since it was read; that change triggers another reconcile.
    if (seen.some(({ object }) => isOutline(object))) return [];
    const hash = hashOf(
      seen.map(({ object, keys }) => visibleContent(object, keys)),
      10,
    );
    const isTold =
      !seen.some(({ object }) => isChanged(object)) || pod.metadata.annotations?.[configHashAnnotation] === hash;
    return isTold || !isOnNode(pod) ? [] : [{ pod, hash }];
  });

const mountedObject = ({ configMaps, metadataOf }: Mountable, { kind, name }: Mount): KubeObject | undefined =>
  kind === 'Secret'
    ? metadataOf('Secret', name)
    : (configMaps.find(({ metadata }) => metadata.name === name) ?? metadataOf('AnyConfigMap', name));

/**
 * What a pod sees of it: a change of anything else is none to the pod. Of what the operator does not see, the version
 * stands for all.
 */
const visibleContent = (object: KubeObject, keys: readonly string[] | undefined): Readonly<Record<string, unknown>> => {
  if (object.kind !== 'ConfigMap') return { version: object.metadata.resourceVersion };
  const data = (object['data'] ?? {}) as Readonly<Record<string, unknown>>;
  return keys === undefined ? data : Object.fromEntries(keys.map((key) => [key, data[key]]));
};

/**
 * RFC 3339 in whole seconds, comparable as text; empty when `managedFields` does not tell. The cache keeps the entries
 * needed for this (`trim`).
 */
const changedAt = ({ metadata }: KubeObject): string =>
  (metadata.managedFields ?? [])
    .map(({ time = '' }) => time)
    .reduce((newest, time) => (time > newest ? time : newest), '');

/** Only there a kubelet has mounted something that may be stale. */
const isOnNode = (pod: KubeObject): boolean => {
  const { nodeName } = (pod['spec'] ?? {}) as { readonly nodeName?: string };
  const { phase } = (pod['status'] ?? {}) as { readonly phase?: string };
  const isOver = pod.metadata.deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed';
  return nodeName !== undefined && !isOver;
};

/** A pod that is gone by now needs no mark. */
export const annotatePods = async (
  marks: readonly PodAnnotation[],
  deps: { readonly api: Pick<ApiClient, 'mergePatch'>; readonly cache: { readonly put: (object: KubeObject) => void } },
  signal: AbortSignal,
): Promise<void> => {
  for (const { pod, hash } of marks) {
    const patch = { metadata: { uid: pod.metadata.uid, annotations: { [configHashAnnotation]: hash } } };
    try {
      deps.cache.put(await deps.api.mergePatch(keyOf(pod), patch, signal));
    } catch (error) {
      if (!isNotFound(error)) {
        throw error;
      }
    }
  }
};
