/**
 * Policies: may this caller do this, and is there a call of this entry that would be admitted? Calls are decided by
 * Cedar, lists by an evaluation of our own in which arguments are unknown (docs/policies.md). Start at
 * `policy-gate.ts`, then `policy-set.ts` (one set of policies) and `may-be-admitted.ts` (lists).
 */

export {
  policyFindings,
  policyProblems,
  policyWarnings,
  type QuestionedPolicies,
  questionable,
  type WrittenPolicies,
} from './policy-findings.ts';
export { loadCedar } from './engine.ts';
export type { PolicyProblem } from './parse-policies.ts';
export { policyGate, type PolicyGateDeps, policySettingsOf } from './policy-gate.ts';
export type { UpstreamClaims } from './claims.ts';
