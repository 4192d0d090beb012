import { mountsOf } from './mounts.ts';
import { isNotFound } from '../api/errors.ts';
import type { ApiClient } from '../api/client.ts';
import { fieldManager, keyOf } from '../object.ts';
import type { KubeObject } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';

export const configHashAnnotation = 'vmcp.dev/config-hash';

export interface Mark {
  readonly pod: KubeObject;
  readonly hash: string;
}

/**
 * Pods whose mounted ConfigMap may have changed after they were made and that have not been told what is in it. A changed
 * annotation makes the kubelet look at the pod at once and refresh its volumes; otherwise that takes up to a minute.
 */
export const podsToMark = (configMaps: readonly KubeObject[], pods: readonly KubeObject[]): readonly Mark[] =>
  pods.flatMap((pod) => {
    // In whole seconds: what changed in the second in which the pod was made may have come after it.
    const isChanged = (configMap: KubeObject): boolean =>
      changedAt(configMap) >= (pod.metadata.creationTimestamp ?? '');
    const seen = mountsOf(pod['spec']).flatMap(({ name, keys }) =>
      configMaps.filter(({ metadata }) => metadata.name === name).map((configMap) => ({ configMap, keys })),
    );
    const hash = hashOf(
      seen.map(({ configMap, keys }) => seenData(configMap, keys)),
      10,
    );
    const isTold =
      !seen.some(({ configMap }) => isChanged(configMap)) || pod.metadata.annotations?.[configHashAnnotation] === hash;
    return isTold || !isOnNode(pod) ? [] : [{ pod, hash }];
  });

/** What a pod sees of it: a change of anything else is none to the pod. */
const seenData = (configMap: KubeObject, keys: readonly string[] | undefined): Readonly<Record<string, unknown>> => {
  const data = (configMap['data'] ?? {}) as Readonly<Record<string, unknown>>;
  return keys === undefined ? data : Object.fromEntries(keys.map((key) => [key, data[key]]));
};

/** RFC 3339 in whole seconds, comparable as text; empty for what we never applied. */
const changedAt = (object: KubeObject): string =>
  object.metadata.managedFields?.find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
    ?.time ?? '';

/** Only there a kubelet has mounted something that may be stale. */
const isOnNode = (pod: KubeObject): boolean => {
  const { nodeName } = (pod['spec'] ?? {}) as { readonly nodeName?: string };
  const { phase } = (pod['status'] ?? {}) as { readonly phase?: string };
  const isOver = pod.metadata.deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed';
  return nodeName !== undefined && !isOver;
};

/** A pod that is gone by now needs no mark. */
export const markPods = async (
  marks: readonly Mark[],
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
