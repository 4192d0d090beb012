import type { KubeObject } from '../object.ts';
import { type Violation, unreadable, violationText } from '../validate/index.ts';
import { conditionsIn, fact, problem, undecided, warningsOf } from './conditions.ts';
import { DEGRADING, type PhasesWithProblems, type Plan } from './plan.ts';

/** Why nothing is planned for an object. */
export interface Unplanned {
  /** The condition that is `False`, beside `Ready`. */
  readonly type: 'Valid' | 'BackendsDiscovered';
  readonly reason: 'TooCostly' | 'TooManyBackends' | Violation['word'];
  readonly message: string;
  /** Phases that become others; one that is not named stays. */
  readonly phases: PhasesWithProblems;
  /** Absent: only a change helps. */
  readonly againAfterMs?: number;
}

/**
 * The plan of an object that would cost more than one object may cost everybody. Children stay as they are, and what
 * serves goes on; what the status said of it stays, for an autoscaler reads it. Whether it is ready still, nobody
 * knows.
 */
export const planOfUnplanned = (
  object: KubeObject,
  { type, reason, message, phases, againAfterMs }: Unplanned,
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
    ...(againAfterMs !== undefined && { againAfterMs }),
    events: warningsOf(conditions.slice(0, 1)),
  };
};

/**
 * The plan of an object that nothing but its status can be made of; undefined for every other one. Children stay as
 * they are.
 */
export const planOfUnreadable = (object: KubeObject, phases: PhasesWithProblems = DEGRADING): Plan | undefined => {
  const why = unreadable(object);
  return why && planOfUnplanned(object, { type: 'Valid', reason: why.word, message: violationText(why), phases });
};
