/**
 * Everything that can go wrong between a client and a backend. The codes are stable: the edge's table, logs and audit
 * use them.
 */
export type ErrorCode =
  | 'invalid_token'
  | 'insufficient_scope'
  // The identity provider cannot be asked whether the token is valid.
  | 'issuer_unavailable'
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'http_method_not_allowed'
  | 'http_method_of_older_revision'
  | 'body_too_large'
  | 'overloaded'
  | 'busy'
  | 'too_many_streams'
  | 'not_json'
  | 'not_json_rpc'
  | 'unsupported_media_type'
  | 'not_acceptable'
  | 'unsupported_protocol_version'
  | 'session_required'
  | 'session_not_found'
  | 'method_not_found'
  | 'invalid_params'
  // The arguments of a composite tool break the JSON Schema of its parameters.
  | 'invalid_arguments'
  // A composite tool ends without a result.
  | 'workflow_failed'
  | 'unknown_name'
  | 'forbidden'
  | 'rate_limited'
  | 'lists_unavailable'
  | 'backend_unavailable'
  | 'backend_unreachable'
  | 'backend_unauthenticated'
  | 'backend_timeout'
  // The circuit breaker of the backend lets nothing through.
  | 'circuit_open'
  | 'credential_unavailable'
  | 'login_required'
  // The same, for a client that has declared to show URLs (MCP 2025-11-25).
  | 'url_elicitation_required'
  // The same, for a client that cannot do anything about it but tell its user.
  | 'sign_in_needed'
  | 'cancelled'
  // The client has cancelled the call and keeps its request open: a late answer is still sent to it.
  | 'cancelled_by_client'
  | 'stopping'
  | 'client_cannot_answer'
  | 'header_mismatch'
  | 'missing_client_capability'
  | 'unsupported_revision'
  | 'invalid_request'
  | 'no_such_method'
  | 'store_unavailable'
  | 'audit_unavailable'
  | 'internal';

export interface VmcpErrorMore {
  readonly detail?: string;
  readonly cause?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly challenge?: Challenge;
  /** What the client reads in place of `message`, where that holds what a backend wrote: it is in no log. */
  readonly clientText?: string;
  readonly isOutage?: boolean;
}

/**
 * Parameters of the Bearer challenge that asks for another token, by name (RFC 6750 §3): `error`, `scope`,
 * `resource_metadata`.
 */
export type Challenge = Readonly<Record<string, string>>;

/** The one error type. `message` may be shown to any client; `detail` and `cause` are for logs only. */
export class VmcpError extends Error {
  override readonly name = 'VmcpError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  /** More members of the JSON-RPC error's `data`, as the protocol requires them for this code. */
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly challenge: Challenge | undefined;
  readonly clientText: string | undefined;
  /**
   * A backend, or who issues the credentials for it, is away, silent or broken, where the code alone does not say so:
   * it counts for the circuit breaker of the backend (docs/failures.md "What counts").
   */
  readonly isOutage: boolean;

  constructor(code: ErrorCode, message: string, more: VmcpErrorMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.detail = more.detail;
    this.data = more.data;
    this.challenge = more.challenge;
    this.clientText = more.clientText;
    this.isOutage = more.isOutage ?? false;
  }
}

/** The caught value as a VmcpError; any other value becomes `internal`. */
export const asVmcpError = (error: unknown): VmcpError =>
  error instanceof VmcpError ? error : new VmcpError('internal', 'internal error', { cause: error });
