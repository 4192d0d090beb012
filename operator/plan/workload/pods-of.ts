import type { KubeObject } from '../../object.ts';
import type { Variable } from './pod.ts';

/** What can be told of a pod before it runs. */
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

/**
 * Does this Service, as the cluster has it, lead to this pod, or to those that this Deployment or StatefulSet makes?
 */
export const leadsTo = (service: KubeObject | undefined, workload: KubeObject): boolean => {
  const { selector } = (service?.['spec'] ?? {}) as { readonly selector?: PodsOf['labels'] };
  const { labels } = podsOf(workload);
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
};
