import type { KubeObject } from '../object.ts';
import { type Violation, unreadable, violationText } from '../validate/index.ts';
import { conditionsIn, fact, problem, undecided, warningsOf } from './conditions.ts';
import { DEGRADING, type PhasesWithProblems, type Plan } from './plan.ts';

/** Why nothing is planned for an object. */
export interface Unplanned {
  /** The condition that is `False`, beside `Ready`. */
  readonly type: 'Valid' | 'BackendsDiscovered';
  readonly reason: 'TooCostly' | 'TooManyBackends' | Violation['conditionReason'];
  readonly message: string;
  /** Phases that become others; one that is not named stays. */
  readonly phases: PhasesWithProblems;
  /** Absent: only a change helps. */
  readonly requeueAfterMs?: number;
}

/**
 * The plan of an object that exceeds what one object may cost. Children and most of the status stay as they are, so the
 * server keeps running and an autoscaler keeps its fields; `Ready` becomes `Unknown`.
 */
export const planOfUnplanned = (
  object: KubeObject,
  { type, reason, message, phases, requeueAfterMs }: Unplanned,
): Plan => {
  const { generation } = object.metadata;
  const before = (object['status'] ?? {}) as Readonly<Record<string, unknown>> & { readonly phase?: string };
  const phase = before.phase === undefined ? undefined : (phases[before.phase] ?? before.phase);
  const wasReady = conditionsIn(before).some((known) => known.type === 'Ready' && known.status !== 'False');
  const conditions = [
    fact(type, false, reason, message),
    wasReady ? undecided('Ready', reason, message) : fact('Ready', false, reason, message),
    problem('Stalled', reason, message),
  ];
  return {
    status: {
      ...before,
      ...(phase !== undefined && { phase, message }),
      ...(generation !== undefined && { observedGeneration: generation }),
      conditions,
    },
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
    events: warningsOf(conditions.slice(0, 1)),
  };
};

/**
 * The plan of an object of which only the status is written; undefined for every other object. Children stay as they
 * are.
 */
export const planOfUnreadable = (object: KubeObject, phases: PhasesWithProblems = DEGRADING): Plan | undefined => {
  const why = unreadable(object);
  return (
    why && planOfUnplanned(object, { type: 'Valid', reason: why.conditionReason, message: violationText(why), phases })
  );
};
