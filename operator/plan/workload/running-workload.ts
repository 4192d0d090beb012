import type { KubeObject } from '../../object.ts';
import type { Variable } from './pod.ts';

/** The pods of a workload as the cluster has them, and what makes them. */
export interface RunningWorkload {
  /** A Deployment or a StatefulSet; undefined while there is none of ours. */
  readonly controller: KubeObject | undefined;
  /** None of a StatefulSet. */
  readonly replicaSets: readonly KubeObject[];
  /** Without those that are going. */
  readonly pods: readonly KubeObject[];
  /** Why a StatefulSet makes no pod, or not all of them. */
  readonly podCreationFailure?: string;
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

/** What is known of a pod before it runs. */
export interface PodsOf {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: {
    readonly containers?: readonly { readonly name: string; readonly env?: readonly Variable[] }[];
    readonly volumes?: readonly Volume[];
  };
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name?: string };
  readonly projected?: { readonly sources?: readonly { readonly secret?: Source; readonly configMap?: Source }[] };
}

interface Source {
  readonly items?: readonly { readonly path: string }[];
}

/**
 * The pods that a Deployment, a StatefulSet or a ReplicaSet makes, as the cluster has its template; of a pod, that pod.
 */
export const podsOf = ({ metadata, spec }: KubeObject): PodsOf => {
  const { template } = (spec ?? {}) as { readonly template?: Template };
  const { metadata: { labels = {}, annotations = {} } = {}, spec: podSpec = {} } =
    template ?? ({ metadata, spec } as Template);
  return { labels, annotations, spec: podSpec };
};

interface Template {
  readonly metadata?: Partial<Pick<PodsOf, 'labels' | 'annotations'>>;
  readonly spec?: PodsOf['spec'];
}

/** Whether the selector of this Service matches this pod, or those that this Deployment or StatefulSet makes. */
export const selects = (service: KubeObject | undefined, workload: KubeObject): boolean => {
  const { selector } = (service?.['spec'] ?? {}) as { readonly selector?: PodsOf['labels'] };
  const { labels } = podsOf(workload);
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
};
