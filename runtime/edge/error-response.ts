import type { RoutedMethod, WholeReply } from '../call/index.ts';
import type { ErrorCode, VmcpError } from '../errors.ts';
import { RESERVED_PREFIX } from '../mcp/index.ts';
import { bearerChallenge } from './bearer-challenge.ts';
import type { ServerInfo } from './shared-answers.ts';

/** How one kind of failure is answered. */
interface Row {
  readonly http: number;
  /** JSON-RPC code; absent: the answer is plain JSON with `error` and `error_description`. */
  readonly rpc?: number;
  /** `data.reason`. */
  readonly reason?: string;
  /** `tools/call` is answered with a result that has `isError`, so that a model can read it. */
  readonly asToolResult?: true;
  readonly headers?: HeaderPairs | ((error: VmcpError) => HeaderPairs);
}

/** Names and values in turn. */
type HeaderPairs = readonly string[];

const challenge = (error: VmcpError): HeaderPairs => ['www-authenticate', bearerChallenge(error.challenge)];

/** The token is valid and lacks a scope, which the challenge asks for (RFC 6750 §3.1). */
const challengeForScope = (error: VmcpError): HeaderPairs => [
  'www-authenticate',
  bearerChallenge({ error: 'insufficient_scope', ...error.challenge }),
];

const A_DAY_S = 86_400;

/** RFC 9110 §10.2.3 knows whole seconds only; the exact time is in the body. */
const retryAfter = ({ data }: VmcpError): HeaderPairs => {
  const seconds = data?.['retryAfterSeconds'];
  return Number.isFinite(seconds)
    ? ['retry-after', String(Math.min(A_DAY_S, Math.max(0, Math.ceil(Number(seconds)))))]
    : [];
};

/** A cancelled request gets no response (MCP "Cancellation"): an event stream without events says just that. */
const UNANSWERED: Row = { http: 200, headers: ['content-type', 'text/event-stream'] };

/** The one table from error codes to responses (docs/decisions.md "Errors"). */
const rows: Readonly<Record<ErrorCode, Row>> = {
  invalid_token: { http: 401, headers: challenge },
  insufficient_scope: { http: 403, headers: challengeForScope },
  issuer_unavailable: { http: 503, headers: ['retry-after', '5'] },
  host_not_allowed: { http: 403 },
  origin_not_allowed: { http: 403 },
  not_found: { http: 404 },
  http_method_not_allowed: { http: 405, rpc: -32_000, headers: ['allow', 'POST, GET, DELETE, OPTIONS'] },
  http_method_of_older_revision: { http: 405, rpc: -32_000, headers: ['allow', 'POST, OPTIONS'] },
  body_too_large: { http: 413, rpc: -32_600, headers: ['connection', 'close'] },
  // No room for the request as such; `busy` is about one call, and so costs the client neither connection nor session.
  overloaded: { http: 503, rpc: 503, reason: 'overloaded', headers: ['retry-after', '1', 'connection', 'close'] },
  busy: { http: 200, rpc: 429, reason: 'busy' },
  // What opens a stream is answered with a stream or an HTTP error: clients take anything else for one that broke.
  too_many_streams: { http: 429, rpc: 429, reason: 'busy', headers: ['retry-after', '10'] },
  not_json: { http: 400, rpc: -32_700 },
  not_json_rpc: { http: 400, rpc: -32_600 },
  unsupported_media_type: { http: 415, rpc: -32_600 },
  not_acceptable: { http: 406, rpc: -32_600 },
  // MCP names no code for these two; -32000 is what its SDKs answer and what a 2026-07-28 probe reads as "an older
  // server".
  unsupported_protocol_version: { http: 400, rpc: -32_000 },
  session_required: { http: 400, rpc: -32_000 },
  session_not_found: { http: 404, rpc: -32_001, reason: 'session_not_found' },
  method_not_found: { http: 200, rpc: -32_601 },
  invalid_params: { http: 200, rpc: -32_602 },
  invalid_arguments: { http: 200, rpc: -32_602, reason: 'invalid_arguments' },
  workflow_failed: { http: 200, rpc: 502, reason: 'workflow_failed', asToolResult: true },
  unknown_name: { http: 200, rpc: -32_602, reason: 'unknown_name' },
  forbidden: { http: 200, rpc: 403, reason: 'forbidden' },
  rate_limited: { http: 200, rpc: 429, reason: 'rate_limited', headers: retryAfter },
  lists_unavailable: { http: 200, rpc: 503, reason: 'backend_unavailable' },
  backend_unavailable: { http: 200, rpc: 502, reason: 'backend_unavailable', asToolResult: true },
  // The connection failed, or HTTP 5xx: the call did not cause it. A code of its own only for the backend's status.
  backend_unreachable: { http: 200, rpc: 502, reason: 'backend_unavailable', asToolResult: true },
  backend_unauthenticated: { http: 200, rpc: 502, reason: 'backend_unavailable', asToolResult: true },
  backend_timeout: { http: 200, rpc: 504, reason: 'backend_timeout', asToolResult: true },
  circuit_open: { http: 200, rpc: 502, reason: 'circuit_open', asToolResult: true },
  credential_unavailable: { http: 200, rpc: 502, reason: 'credential_unavailable', asToolResult: true },
  // The client can mend it by a sign-in at the upstream provider that `scope` names: `upstream:<name>`.
  login_required: { http: 401, rpc: 401, reason: 'login_required', headers: challengeForScope },
  // MCP 2025-11-25, "URL Elicitation Required Error".
  url_elicitation_required: { http: 200, rpc: -32_042, reason: 'login_required' },
  sign_in_needed: { http: 200, rpc: 401, reason: 'login_required', asToolResult: true },
  cancelled: UNANSWERED,
  cancelled_by_client: UNANSWERED,
  stopping: { http: 503, rpc: 503, reason: 'stopping' },
  client_cannot_answer: { http: 200, rpc: -32_603, reason: 'client_cannot_answer' },
  // The session may well exist, so it is no 404: its client tries again instead of beginning anew.
  store_unavailable: { http: 503, rpc: 503, reason: 'store_unavailable', headers: ['retry-after', '1'] },
  // Audit is blocking-strict, and the event of the request cannot be written: docs/audit.md "Delivery".
  audit_unavailable: { http: 503, rpc: 503, reason: 'audit_unavailable', headers: ['retry-after', '1'] },
  // The next five are those of 2026-07-28, with the codes and statuses it gives them.
  header_mismatch: { http: 400, rpc: -32_020 },
  missing_client_capability: { http: 400, rpc: -32_021 },
  unsupported_revision: { http: 400, rpc: -32_022 },
  invalid_request: { http: 400, rpc: -32_602 },
  no_such_method: { http: 404, rpc: -32_601 },
  internal: { http: 500, rpc: -32_603, reason: 'internal' },
};

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(rows, code);

/** What the form of an error response depends on. */
export interface FailedRequest {
  /** JSON text; undefined when it could not be read. */
  readonly id: Buffer | undefined;
  /** The request is no JSON-RPC, and neither is the answer: the HTTP status alone tells what happened. */
  readonly isPlain?: true;
  /**
   * The request was refused before it was read, so no JSON-RPC request is answered: the HTTP status tells what
   * happened, too.
   */
  readonly isUnread?: true;
  /** Picks the form of the backend's failures. Absent: the request is not one that goes to a backend. */
  readonly method?: RoutedMethod;
  /** Our `serverInfo`, for a client of 2026-07-28. Absent: the client is of an earlier revision. */
  readonly serverInfo?: ServerInfo | undefined;
  readonly correlationId: string;
}

/** The response to a failed request. */
export const errorResponse = (error: VmcpError, request: FailedRequest): WholeReply => {
  const row = rows[error.code];
  const answer = { kind: 'whole', status: statusOf(row, request), headers: headersOf(row, error) } as const;
  if (row === UNANSWERED) return answer;
  return { ...answer, body: Buffer.from(failureBody(error, row, request)) };
};

/**
 * Where 200 keeps an MCP client in its session, our JSON-RPC codes above zero are HTTP statuses; the others are
 * mistakes of the client.
 */
const statusOf = ({ http, rpc }: Row, { isPlain, isUnread }: FailedRequest): number => {
  if (!(isPlain || isUnread) || http !== 200 || rpc === undefined) return http;
  return rpc > 0 ? rpc : 400;
};

const headersOf = ({ headers = [] }: Row, error: VmcpError): HeaderPairs =>
  typeof headers === 'function' ? headers(error) : headers;

const failureBody = (error: VmcpError, row: Row, request: FailedRequest): string => {
  const { correlationId } = request;
  const data = { ...(row.reason && { reason: row.reason }), ...error.data, correlationId };
  const id = request.id?.toString() ?? 'null';
  if (row.rpc === undefined || request.isPlain)
    return JSON.stringify({ error: error.code, error_description: error.message, correlationId });
  if (row.asToolResult && request.method === 'tools/call') {
    const { serverInfo } = request;
    const result = {
      ...(serverInfo && { resultType: 'complete' }),
      content: [{ type: 'text', text: messageOf(error) }],
      isError: true,
      _meta: {
        'vmcp.dev/error': data,
        ...(error.challenge && { 'mcp/www_authenticate': [bearerChallenge(error.challenge)] }),
        ...(serverInfo && { [`${RESERVED_PREFIX}serverInfo`]: serverInfo }),
      },
    };
    return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  }
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code: row.rpc, message: messageOf(error), data })}}`;
};

/** With the page where a person can mend it. The address is no part of the error's own text, which logs have. */
const messageOf = ({ clientText, message: ownText, data }: VmcpError): string => {
  const message = clientText ?? ownText;
  const { signInUrl, accountsUrl } = data ?? {};
  if (typeof signInUrl !== 'string' || typeof accountsUrl !== 'string') return message;
  return `${message}: open ${signInUrl} in a browser. All linked accounts: ${accountsUrl}`;
};
