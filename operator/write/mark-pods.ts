import { mountedConfigMaps } from './prune.ts';
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
 * Pods whose mounted ConfigMap changed after they were made and that have not been told. A changed annotation makes the
 * kubelet look at the pod at once and refresh its volumes; otherwise that takes up to a minute.
 */
export const podsToMark = (configMaps: readonly KubeObject[], pods: readonly KubeObject[]): readonly Mark[] =>
  pods.flatMap((pod) => {
    const mounted = mountedConfigMaps(pod['spec']);
    const changed = configMaps.filter(
      (configMap) =>
        mounted.has(configMap.metadata.name) && changedAt(configMap) > (pod.metadata.creationTimestamp ?? ''),
    );
    const hash = hashOf(
      changed.map((configMap) => configMap['data']),
      10,
    );
    const isTold = changed.length === 0 || pod.metadata.annotations?.[configHashAnnotation] === hash;
    return isTold || !isOnNode(pod) ? [] : [{ pod, hash }];
  });

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
