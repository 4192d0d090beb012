import type { KubeObject } from '../../object.ts';
import type { PlannedCondition } from '../plan.ts';
import type { Standing } from './standing.ts';

/** What the kind has its own words for. */
export interface WorkloadStatus {
  readonly phase: string;
  readonly message: string;
  readonly url: string | undefined;
  readonly conditions: readonly PlannedCondition[];
}

/** `status` of a kind whose pods run a container of others. */
export const workloadStatus = (
  { metadata: { generation } }: KubeObject,
  { readyReplicas }: Standing,
  { phase, message, url, conditions }: WorkloadStatus,
): Readonly<Record<string, unknown>> => ({
  phase,
  message,
  ...(url !== undefined && { url }),
  readyReplicas,
  ...(generation !== undefined && { observedGeneration: generation }),
  conditions,
});
