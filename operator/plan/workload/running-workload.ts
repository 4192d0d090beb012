import type { KubeObject } from '../../object.ts';

/** The pods of a workload as the cluster has them, and what makes them. */
export interface RunningWorkload {
  /** A Deployment or a StatefulSet; undefined while there is none of ours. */
  readonly controller: KubeObject | undefined;
  /** None of a StatefulSet. */
  readonly replicaSets: readonly KubeObject[];
  /** Without those that are going. */
  readonly pods: readonly KubeObject[];
  /** Why a StatefulSet makes no pod, or not all of them. */
  readonly notMade?: string;
}

/** Pods of a Deployment or a StatefulSet that are ready. */
export const readyIn = (controller: KubeObject | undefined): number => {
  const { readyReplicas = 0 } = (controller?.['status'] ?? {}) as { readonly readyReplicas?: number };
  return readyReplicas;
};

/** Is it to have no pods: as the spec says, or where that leaves it to others, as the cluster has it? */
export const wantsNoPods = (replicas: number | undefined, controller: KubeObject | undefined): boolean => {
  const { replicas: present } = (controller?.['spec'] ?? {}) as { readonly replicas?: number };
  return (replicas ?? present) === 0;
};
