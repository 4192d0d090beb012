import type { CompiledPolicy } from './compile-policy.ts';
import type { Environment } from './environment.ts';
import { ERROR, FALSE, TRUE } from './outcome.ts';

/** What the policies say as far as arguments are known; `open`: they may say either. */
export type Verdict = 'admitted' | 'refused' | 'open';

/** An access is admitted where some policy permits it, none forbids it, and the evaluation of none fails. */
export const verdictOf = (policies: readonly CompiledPolicy[], environment: Environment): Verdict => {
  let isPermitted = false;
  let mayBePermitted = false;
  let isSure = true;
  for (const { effect, evaluate } of policies) {
    const mask = evaluate(environment);
    if (mask === ERROR) return 'refused';
    if (mask & ERROR) isSure = false;
    if (effect === 'permit') {
      isPermitted ||= mask === TRUE;
      mayBePermitted ||= (mask & TRUE) !== 0;
    } else if (!(mask & FALSE)) return 'refused';
    else if (mask !== FALSE) isSure = false;
  }
  if (!mayBePermitted) return 'refused';
  return isPermitted && isSure ? 'admitted' : 'open';
};
