import type { KubeObject } from '../../object.ts';

type Labels = Readonly<Record<string, string>>;

/** Does this Service, as the cluster has it, lead to this pod, or to those that this Deployment or StatefulSet makes? */
export const leadsTo = (service: KubeObject | undefined, workload: KubeObject): boolean => {
  const { selector } = (service?.['spec'] ?? {}) as { readonly selector?: Labels };
  const labels = labelsOfPods(workload);
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
};

const labelsOfPods = ({ metadata, spec }: KubeObject): Labels => {
  const { template } = (spec ?? {}) as { readonly template?: { readonly metadata?: { readonly labels?: Labels } } };
  return (template === undefined ? metadata.labels : template.metadata?.labels) ?? {};
};
