import type { KubeObject } from '../../object.ts';
import { type PodsOf, podsOf } from './pods-of.ts';

/** Does this Service, as the cluster has it, lead to this pod, or to those that this Deployment or StatefulSet makes? */
export const leadsTo = (service: KubeObject | undefined, workload: KubeObject): boolean => {
  const { selector } = (service?.['spec'] ?? {}) as { readonly selector?: PodsOf['labels'] };
  const { labels } = podsOf(workload);
  return selector !== undefined && Object.entries(selector).every(([key, value]) => labels[key] === value);
};
