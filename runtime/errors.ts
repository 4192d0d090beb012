/** Everything that can go wrong between a client and a backend. Stable: the edge's table, logs and audit speak in these words. */
export type ErrorCode =
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'http_method_not_allowed'
  | 'body_too_large'
  | 'overloaded'
  | 'busy'
  | 'not_json'
  | 'not_json_rpc'
  | 'unsupported_media_type'
  | 'not_acceptable'
  | 'unsupported_protocol_version'
  | 'session_required'
  | 'session_not_found'
  | 'method_not_found'
  | 'invalid_params'
  | 'unknown_name'
  | 'lists_unavailable'
  | 'backend_unavailable'
  | 'backend_unreachable'
  | 'backend_unauthenticated'
  | 'backend_timeout'
  | 'cancelled'
  | 'stopping'
  | 'client_cannot_answer'
  | 'store_unavailable'
  | 'internal';

/** The one error type. `message` may be shown to strangers; `detail` and `cause` are for logs only. */
export class VmcpError extends Error {
  override readonly name = 'VmcpError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;

  constructor(code: ErrorCode, message: string, more: { readonly detail?: string; readonly cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.detail = more.detail;
  }
}

/** What a catch clause holds, as our error; anything foreign is our own fault. */
export const asVmcpError = (error: unknown): VmcpError =>
  error instanceof VmcpError ? error : new VmcpError('internal', 'internal error', { cause: error });
