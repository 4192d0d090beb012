import type { KubeObject } from '../../object.ts';
import { fact, warningsOf } from '../conditions.ts';
import type { PlannedCondition, PlannedEvent } from '../plan.ts';
import type { Reason } from '../reasons.ts';
import { whatPodsWaitFor, whyPodsCannotStart } from './pod-failures.ts';
import { type RunningWorkload, readyIn, wantsNoPods } from './running-workload.ts';

/** The state of a workload's rollout; each kind has its own word for it in `status.phase`. */
export interface RolloutState {
  readonly state: 'refused' | 'stopped' | 'stuck' | 'starting' | 'serving';
  /** Of the condition `Ready`. */
  readonly reason: Reason;
  readonly message: string;
  readonly readyReplicas: number;
}

export interface RolloutInput {
  readonly workload: RunningWorkload;
  /** What is wrong with the spec; what runs is left as it is meanwhile. */
  readonly complaints: readonly string[];
  /** The count that the spec asks for; absent: the one that the cluster has. */
  readonly replicas?: number | undefined;
  /** Name of the StatefulSet that is to make its pods, where it is not a Deployment. */
  readonly statefulSet?: string | undefined;
}

/**
 * For every kind with pods. Such a workload is `Ready`, as a Deployment without replicas is available: no replicas are
 * wanted.
 */
export const SCALED_TO_ZERO = { reason: 'ScaledToZero', message: 'no pods: replicas is 0' } as const;

/** docs/decisions.md "Phase": what serves goes on serving, and says what is wrong beside it. */
export const rolloutStateOf = ({ workload, complaints, replicas, statefulSet }: RolloutInput): RolloutState => {
  const { controller, pods } = workload;
  const readyReplicas = readyIn(controller);
  const trouble = whyPodsCannotStart(workload);
  const isServing = readyReplicas > 0;
  const told = (state: RolloutState['state'], reason: Reason, message: string): RolloutState => ({
    state: isServing ? 'serving' : state,
    reason,
    message,
    readyReplicas,
  });
  if (complaints.length > 0) {
    const why = complaints.join('; ');
    return isServing
      ? told('serving', 'LastGoodSpecServes', `the pods are left as they are: ${why}`)
      : told('refused', 'NothingToServe', why);
  }
  if (!isServing && wantsNoPods(replicas, controller))
    return told('stopped', SCALED_TO_ZERO.reason, SCALED_TO_ZERO.message);
  if (trouble !== undefined) return told('stuck', 'PodsCannotStart', `pods cannot start: ${trouble}`);
  return isServing
    ? told('serving', 'Serving', 'running')
    : told('starting', 'PodsStarting', whatPodsWaitFor(pods, statefulSet));
};

/** The condition `Ready`; a workload that is scaled to zero is as it should be. */
export const readyCondition = ({ state, reason, message }: RolloutState): PlannedCondition =>
  fact('Ready', state === 'serving' || state === 'stopped', reason, message);

/** What went wrong, and the end of a way: a workload that is waiting is no news. */
export const eventsOf = (
  { state, reason, message }: RolloutState,
  conditions: readonly PlannedCondition[],
): readonly PlannedEvent[] => [
  ...warningsOf(conditions.filter(({ type }) => type !== 'Ready')),
  ...(state === 'serving' && reason === 'Serving' ? [{ type: 'Normal' as const, reason, message }] : []),
  ...(reason === 'PodsCannotStart' ? [{ type: 'Warning' as const, reason, message }] : []),
];

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
  { readyReplicas }: RolloutState,
  { phase, message, url, conditions }: WorkloadStatus,
): Readonly<Record<string, unknown>> => ({
  phase,
  message,
  ...(url !== undefined && { url }),
  readyReplicas,
  ...(generation !== undefined && { observedGeneration: generation }),
  conditions,
});
