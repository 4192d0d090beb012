/**
 * May this call happen: authenticate the head of a request, authorize a call, limit its rate. Denies by throwing
 * VmcpError; nothing behind the gate decides about rights again. Start at `gate.ts`.
 */

export { CurrentCallers, inTime, rememberCallers } from './current-callers.ts';
export { type IncomingAuth, type Machine, incomingAuth } from './authenticate/incoming-auth.ts';
export type { ExaminedLimits, ExaminedPolicies } from './examine.ts';
export { type Gate, openGate } from './gate.ts';
export { type LimitMetrics, limitMetrics } from './limit-metrics.ts';
export { verifyCallers } from './verify-callers.ts';
export { examineLimits, limitRate } from './limit.ts';
export { bucketsFor, type BucketSize, type BucketSizes, type RateLimits } from './rate-limits.ts';
export { countDespiteOutage, takeDespiteOutage } from './store-outage.ts';
export {
  loadCedar,
  policyFindings,
  policyGate,
  type PolicyGateDeps,
  type PolicyProblem,
  policyProblems,
  policySettingsOf,
  policyWarnings,
  type QuestionedPolicies,
  questionable,
  type UpstreamClaims,
  type WrittenPolicies,
} from './policy/index.ts';
