import { type Violation, violationText } from '../validate/index.ts';
import type { PlannedCondition, PlannedEvent } from './plan.ts';
import type { Reason } from './reasons.ts';
import type { Subject } from './subjects.ts';

/** A condition that states a fact: always present, `True` or `False`. */
export const fact = (type: ConditionType, holds: boolean, reason: Reason, message: string): PlannedCondition => ({
  type,
  status: holds ? 'True' : 'False',
  reason,
  message: clipped(message),
});

/** A fact that is not known yet. */
export const undecided = (type: FactType, reason: Reason, message: string): PlannedCondition => ({
  type,
  status: 'Unknown',
  reason,
  message: clipped(message),
});

/** A condition as the cluster has it. Kubernetes' own may be without a reason and a message. */
export interface ReportedCondition extends PlannedCondition {
  readonly lastTransitionTime?: string;
}

/** The conditions of a `status`, which another client may have written: what is no object is left out. */
export const conditionsIn = (status: unknown): readonly ReportedCondition[] =>
  ((status as { readonly conditions?: readonly ReportedCondition[] } | undefined)?.conditions ?? [])
    .filter((condition) => typeof condition === 'object')
    .map((condition) => ({ ...condition, reason: condition.reason ?? '', message: condition.message ?? '' }));

/** Types named for a problem: `True` is the bad news. */
export const PROBLEM_TYPES = [
  'AudienceOfApiServer',
  'AudienceShared',
  'AuthServerStorageIgnored',
  'AuthServerUnavailable',
  'AuthzPrimaryUpstreamProviderIgnored',
  'BackendNameConflict',
  'BackendsNeedUsers',
  'BackendsWithheld',
  'CallbackInCluster',
  'ChildConflict',
  'ChildRefused',
  'CompositeToolsDropped',
  'CompositeToolsIncomplete',
  'CompositeToolsMismatched',
  'ConfigOverridden',
  'ConfigRefused',
  'ExternalAuthConfigIgnored',
  'HealthChecksOverlap',
  'LimitsPerReplica',
  'LiteralHeaderValue',
  'LoginsNotDurable',
  'McpPortIgnored',
  'ModelCacheFixed',
  'NamesCollide',
  'NamesUnresolved',
  'NamesUnusual',
  'NeedsCluster',
  'OidcConfigIgnored',
  'PoliciesNotEnforced',
  'SessionStoreAway',
  'ServesWithoutAuth',
  'ServiceNameShared',
  'SessionStorageIgnored',
  'SessionsNotDurable',
  'Stalled',
  'StatusShortened',
  'StaticBackendsIgnored',
  'TelemetryDeprecated',
  'ToolsUnmatched',
  'UnknownStaticBackend',
  'UnknownWorkload',
] as const;

/** Types that state a fact, beside those of references. */
export const FACT_TYPES = [
  'AuthServerConfigValidated',
  'BackendReachable',
  'BackendsDiscovered',
  'BackendsRoutable',
  'EmbeddingServerReady',
  'Ready',
  'StatusReachable',
  'Valid',
] as const;

type FactType = (typeof FACT_TYPES)[number] | `${Subject}Resolved`;
type ConditionType = FactType | ProblemType;

export type ProblemType = (typeof PROBLEM_TYPES)[number];

const isProblemType = (type: string): boolean => (PROBLEM_TYPES as readonly string[]).includes(type);

/** A condition named for a problem: present only while it exists. */
export const problem = (type: ProblemType, reason: Reason, message: string): PlannedCondition =>
  fact(type, true, reason, message);

/**
 * At most 32,768 characters: docs/operations.md "How large an object may be". Half a character would be stored as
 * another one.
 */
export const clipped = (message: string, most = 32_768): string =>
  message.length > most ? `${message.slice(0, most - 1).toWellFormed()}…` : message;

/** `Stalled` is no news: it repeats what other conditions say. */
export const isBadNews = ({ type, status }: PlannedCondition): boolean =>
  type !== 'Stalled' && (isProblemType(type) ? status === 'True' : status === 'False');

/** A warning for each condition that is bad news; the reporter records those whose condition changed. */
export const warningsOf = (conditions: readonly PlannedCondition[]): readonly PlannedEvent[] =>
  conditions.filter(isBadNews).map(({ reason, message }) => ({ type: 'Warning', reason, message }));

/** A cause that only a change by a user removes. */
export interface StallingCause {
  /** Of the condition that states it. */
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

/** The cause for `Stalled` that a broken rule is. */
export const stallingCause = (violation: Violation): StallingCause => ({
  reason: violation.conditionReason,
  message: violationText(violation),
});
