import { type ErrorCode, VmcpError } from '../errors.ts';

export interface StepFailureMore {
  /** The error that made the step fail. */
  readonly cause?: unknown;
  /** Trying again is in vain. */
  readonly isFinal?: true;
}

/** A step that has failed. `message` may hold what a backend wrote: it is for the client, and for no log. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
  readonly isFinal: boolean;

  constructor(message: string, { cause, isFinal }: StepFailureMore = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.isFinal = isFinal ?? false;
  }
}

/** What may be otherwise at the next attempt; no other refusal of ours is. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'backend_unavailable',
  'backend_unreachable',
  'backend_unauthenticated',
  'backend_timeout',
  'circuit_open',
  'credential_unavailable',
  'busy',
  'overloaded',
  'rate_limited',
  'store_unavailable',
]);

export const asStepFailure = (thrown: unknown): StepFailure => {
  if (thrown instanceof StepFailure) return thrown;
  if (!(thrown instanceof VmcpError)) throw thrown;
  return new StepFailure(thrown.message, { cause: thrown, ...(!PASSING.has(thrown.code) && { isFinal: true }) });
};

/** Errors that mean something of their own to the client, to the edge, or to who runs the server. */
const OWN_MEANING: ReadonlySet<ErrorCode> = new Set([
  'login_required',
  'url_elicitation_required',
  'sign_in_needed',
  'insufficient_scope',
  'missing_client_capability',
  'client_cannot_answer',
  'rate_limited',
  'cancelled',
  'cancelled_by_client',
  'stopping',
  'audit_unavailable',
  'internal',
]);

/** The error that the client gets when a step ends its workflow: docs/composite-tools.md "When a step fails". */
export const workflowError = (workflow: string, step: string, { message, cause }: StepFailure): VmcpError => {
  if (cause instanceof VmcpError && OWN_MEANING.has(cause.code)) return cause;
  return new VmcpError('workflow_failed', `step "${step}" of "${workflow}" failed`, {
    clientText: `step "${step}" failed: ${message}`,
    data: { workflow, step },
  });
};
