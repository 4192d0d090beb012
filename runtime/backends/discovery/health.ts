import type { VmcpError } from '../../errors.ts';
import type { BackendStatus } from '../../status/index.ts';

/** `failureHandling` of docs/configuration.md "operational" */
export interface HealthSettings {
  /** Between two checks of a backend. */
  readonly intervalMs: number;
  /** Longest time of one check. */
  readonly timeoutMs: number;
  /** Failed checks in a row before a backend is `unavailable`. */
  readonly unhealthyThreshold: number;
}

/** Health of one backend. */
export interface Health {
  readonly status: BackendStatus;
  /** Why the backend is not ready, or what is missing although it is; safe to show. */
  readonly message?: string;
  /** More for the log; may name addresses. */
  readonly detail?: string;
  /** Failed checks since the last success. */
  readonly consecutiveFailures: number;
  /** Milliseconds since the epoch; when the last check ended. */
  readonly checkedAt?: number;
}

/** Result of one round: the check first, then the lists when they were due. */
export type Finding =
  | { readonly kind: 'well' }
  /** The backend answers, but its lists cannot be read; the earlier lists are served. */
  | { readonly kind: 'stale'; readonly error: VmcpError }
  | { readonly kind: 'failed'; readonly error: VmcpError };

export const UNKNOWN: Health = { status: 'unknown', consecutiveFailures: 0 };

/**
 * The next state. A failure changes the status only once there are `unhealthyThreshold` in a row, so that a short
 * failure changes no client's lists; one success resets the count. A backend that wants a login has answered, so its
 * check has not failed (docs/decisions.md "Health").
 */
export const healthAfter = (
  before: Health,
  finding: Finding,
  { unhealthyThreshold, now }: Pick<HealthSettings, 'unhealthyThreshold'> & { readonly now: number },
): Health => {
  if (finding.kind === 'well') return { status: 'ready', consecutiveFailures: 0, checkedAt: now };
  const { error } = finding;
  const answered = { consecutiveFailures: 0, checkedAt: now, ...reasonOf(error) };
  if (error.code === 'backend_unauthenticated') return { status: 'unauthenticated', ...answered };
  if (finding.kind === 'stale') return { status: 'degraded', ...answered };
  const consecutiveFailures = before.consecutiveFailures + 1;
  const failed = { consecutiveFailures, checkedAt: now };
  if (consecutiveFailures >= unhealthyThreshold) return { status: 'unavailable', ...failed, ...reasonOf(error) };
  // For a backend whose first check fails, the reason is kept.
  return before.status === 'unknown' ? { ...before, ...failed, ...reasonOf(error) } : { ...before, ...failed };
};

const reasonOf = (error: VmcpError): Pick<Health, 'message' | 'detail'> => {
  // A fault of ours has no detail; the log must still name it.
  const detail =
    error.detail ?? (error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : undefined);
  return { message: error.message, ...(detail !== undefined && { detail }) };
};
