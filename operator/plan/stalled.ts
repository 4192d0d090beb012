import { type Violation, violationText } from '../validate/index.ts';
import { problem } from './conditions.ts';
import type { PlannedCondition } from './plan.ts';
import type { Reason } from './reasons.ts';

/** What goes away only when somebody changes it. */
export interface StallingCause {
  /** Of the condition that tells it. */
  readonly reason: string;
  readonly message: string;
}

/**
 * kstatus, and so Argo CD and Flux, takes an object with `Stalled` for failed and stops waiting. What another object
 * may mend does not belong here: objects that are applied together arrive one after another.
 */
export const stalled = (causes: readonly StallingCause[]): readonly PlannedCondition[] => {
  const [first] = causes;
  return first === undefined
    ? []
    : [problem('Stalled', first.reason as Reason, causes.map(({ message }) => message).join('; '))];
};

export const stallingCause = (violation: Violation): StallingCause => ({
  reason: violation.word,
  message: violationText(violation),
});
