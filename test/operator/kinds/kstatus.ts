import type { KubeObject } from '../../../operator/object.ts';
import { conditionsIn } from '../../../operator/plan/conditions.ts';

/** What a tool that reads any kind alike (Argo CD, Flux, `cli-utils`) takes an object for. */
export type KStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

/** The rules of kstatus for kinds that it does not know, in their order. */
export const kstatusOf = (object: KubeObject): KStatus => {
  const { deletionTimestamp, generation } = object.metadata;
  if (deletionTimestamp !== undefined) return 'Terminating';
  const { observedGeneration } = (object['status'] ?? {}) as { readonly observedGeneration?: number };
  if (observedGeneration !== undefined && observedGeneration !== generation) return 'InProgress';
  const conditions = conditionsIn(object['status']);
  const decisive = conditions.find(
    ({ type, status }) => status === 'True' && (type === 'Reconciling' || type === 'Stalled'),
  );
  if (decisive !== undefined) return decisive.type === 'Stalled' ? 'Failed' : 'InProgress';
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
};
