import type { Access, Caller, PolicyDecision, RequestHead, Target } from '../call/index.ts';
import type { TokenCount } from '../store/index.ts';
import type { LimitScope } from './rate-limits.ts';

/**
 * What the steps of the gate would decide, for somebody who asks why. Nothing is counted, taken or logged, and no
 * request is admitted by it. An absent member: the gate has no such step.
 */
export interface Examine {
  /** As `Gate.authenticate`, but a refused token counts against no address. Throws VmcpError. */
  readonly examineCaller?: (head: RequestHead) => Caller | Promise<Caller>;
  /** Undefined: there are no policies. */
  readonly examinePolicies?: (access: Access, target: Target) => Promise<ExaminedPolicies | undefined>;
  /** The buckets of an access. Throws VmcpError as `Gate.limit`. */
  readonly examineLimits?: (access: Access) => Promise<ExaminedLimits>;
}

/** The policies that concern an entry, whoever calls, and what they decide about one access. */
export interface ExaminedPolicies {
  readonly decision: PolicyDecision;
  /** Ids of those that are enforced. */
  readonly concerned: readonly string[];
  /** Names of the claims and arguments that they read. */
  readonly claims: readonly string[];
  readonly args: readonly string[];
  /** Names of those claims that the caller does not have. */
  readonly missingClaims: readonly string[];
  /** The claims cannot be had at all. */
  readonly isWithoutClaims: boolean;
}

export interface ExaminedLimits {
  readonly buckets: readonly ExaminedBucket[];
  /** Where the shared store cannot be asked: what counts in its place. */
  readonly outage?: 'local' | 'allow' | undefined;
}

export interface ExaminedBucket extends TokenCount {
  readonly scope: LimitScope;
  readonly isPerUser: boolean;
  readonly capacity: number;
  readonly refillPeriodMs: number;
}
