import type { PolicyDecision } from '../../call/index.ts';
import { type Meter, STEP_SECONDS } from '../../observe/index.ts';

/** Whether a call is admitted, or an entry is listed. */
export type PolicyQuestion = 'call' | 'list';

export interface PolicyMetrics {
  /** The decision about a call was looked up among those made before. */
  readonly lookedUp: (isKnown: boolean) => void;
  /** Evaluates policies, and measures how long that takes. */
  readonly evaluating: <T>(question: PolicyQuestion, evaluate: () => T) => T;
  /** Counts what the people who write policies have to look at. */
  readonly decided: (decision: PolicyDecision) => void;
  /** Cedar has failed by itself. */
  readonly engineFailed: () => void;
}

/** `steadyNow`: milliseconds. Ids of policies are of the configuration. */
export const policyMetrics = (meter: Meter, steadyNow: () => number): PolicyMetrics => {
  const lookUps = meter.counter({
    name: 'vmcp.policy.cache.requests',
    help: 'Decisions about calls that were looked up among those made before.',
    labels: ['vmcp.cache.status'],
  });
  const evaluations = meter.histogram({
    name: 'vmcp.policy.evaluation.duration',
    help: 'Time to evaluate the policies where no earlier decision can be used.',
    unit: 's',
    labels: ['vmcp.policy.question'],
    buckets: STEP_SECONDS,
  });
  const errors = meter.counter({
    name: 'vmcp.policy.evaluation.errors',
    help: 'Decisions in which a policy could not be evaluated, by policy.',
    labels: ['vmcp.policy.id'],
  });
  const differences = meter.counter({
    name: 'vmcp.policy.dry_run.differences',
    help: 'Decisions that a policy in dry run would have changed, by policy and by what it would have done.',
    labels: ['vmcp.policy.id', 'vmcp.policy.would'],
  });
  const failures = meter.counter({ name: 'vmcp.policy.engine.failures', help: 'Failures of Cedar itself.' });
  return {
    lookedUp: (isKnown) => lookUps({ 'vmcp.cache.status': isKnown ? 'hit' : 'miss' }),
    evaluating: (question, evaluate) => {
      const began = steadyNow();
      const answer = evaluate();
      evaluations((steadyNow() - began) / 1_000, { 'vmcp.policy.question': question });
      return answer;
    },
    decided: ({ isAllowed, failed, dryRun }) => {
      for (const id of failed) errors({ 'vmcp.policy.id': id });
      for (const id of dryRun)
        differences({ 'vmcp.policy.id': id, 'vmcp.policy.would': isAllowed ? 'deny' : 'permit' });
    },
    engineFailed: () => failures({}),
  };
};

/** `count`: groups of callers whose decisions are kept. */
export const showCallerClasses = (meter: Meter, count: () => number): void =>
  meter.gauge(
    { name: 'vmcp.policy.cache.callers', help: 'Groups of callers, alike to the policies, whose decisions are kept.' },
    count,
  );
