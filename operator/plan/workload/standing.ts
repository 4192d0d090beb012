import type { KubeObject } from '../../object.ts';
import { fact, warningsOf } from '../conditions.ts';
import type { PlannedCondition, PlannedEvent } from '../plan.ts';
import type { Reason } from '../reasons.ts';
import { whatPodsWaitFor, whyPodsCannotStart } from './pod-trouble.ts';

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

/** How a workload stands; each kind has its own word for it in `status.phase`. */
export interface Standing {
  readonly state: 'refused' | 'stopped' | 'stuck' | 'starting' | 'serving';
  /** Of the condition `Ready`. */
  readonly reason: Reason;
  readonly message: string;
  readonly readyReplicas: number;
}

export interface StandingInput {
  readonly workload: RunningWorkload;
  /** What is wrong with the spec; what runs is left as it is meanwhile. */
  readonly complaints: readonly string[];
  /** The count that the spec asks for; absent: the one that the cluster has. */
  readonly replicas?: number | undefined;
  /** Name of the StatefulSet that is to make its pods, where it is not a Deployment. */
  readonly statefulSet?: string | undefined;
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

/** Of every kind that has pods. It is `Ready`, as a Deployment without replicas is available: nobody waits for what nobody wants. */
export const SCALED_TO_ZERO = { reason: 'ScaledToZero', message: 'no pods: replicas is 0' } as const;

/** Decisions "Phase": what serves goes on serving, and says what is wrong beside it. */
export const standingOf = ({ workload, complaints, replicas, statefulSet }: StandingInput): Standing => {
  const { controller, pods } = workload;
  const readyReplicas = readyIn(controller);
  const trouble = whyPodsCannotStart(workload);
  const isServing = readyReplicas > 0;
  const told = (state: Standing['state'], reason: Reason, message: string): Standing => ({
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

export const readyCondition = ({ state, reason, message }: Standing): PlannedCondition =>
  fact('Ready', state === 'serving' || state === 'stopped', reason, message);

/** What went wrong, and the end of a way: a workload that is waiting is no news. */
export const eventsOf = (
  { state, reason, message }: Standing,
  conditions: readonly PlannedCondition[],
): readonly PlannedEvent[] => [
  ...warningsOf(conditions.filter(({ type }) => type !== 'Ready')),
  ...(state === 'serving' && reason === 'Serving' ? [{ type: 'Normal' as const, reason, message }] : []),
  ...(reason === 'PodsCannotStart' ? [{ type: 'Warning' as const, reason, message }] : []),
];
