import { type RunningWorkload, wantsNoPods } from '../plan/workload/running-workload.ts';
import type { Reads } from './kind.ts';

/** With the reason why its pods are not made, where a StatefulSet is to make more than there are. */
export const withPodsNotMade = async (
  workload: RunningWorkload,
  { whyNoPod }: Pick<Reads, 'whyNoPod'>,
): Promise<RunningWorkload> => {
  const { controller, pods } = workload;
  if (controller?.kind !== 'StatefulSet' || wantsNoPods(undefined, controller)) return workload;
  const { replicas = 1 } = (controller['spec'] ?? {}) as { readonly replicas?: number };
  if (pods.length >= replicas) return workload;
  const notMade = await whyNoPod(controller);
  return notMade === undefined ? workload : { ...workload, notMade };
};
