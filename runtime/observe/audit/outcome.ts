import type { Reply } from '../../call/index.ts';
import type { ErrorCode } from '../../errors.ts';
import { isObject, JsonSyntaxError, memberAt, readObject, skipValue } from '../../json/index.ts';

/** docs/audit.md "Outcomes" */
export type Outcome = 'success' | 'failure' | 'denied' | 'error' | 'application_error';

/** What the gate refuses: who calls, from where, what, or how often. */
const DENIED: ReadonlySet<ErrorCode> = new Set([
  'invalid_token',
  'insufficient_scope',
  'host_not_allowed',
  'origin_not_allowed',
  'forbidden',
  'rate_limited',
  'login_required',
  'url_elicitation_required',
  'sign_in_needed',
]);

/** What is no fault of the client: here, or at a backend. */
const ERRORS: ReadonlySet<ErrorCode> = new Set([
  'overloaded',
  'lists_unavailable',
  'backend_unavailable',
  'backend_unreachable',
  'backend_unauthenticated',
  'backend_timeout',
  'circuit_open',
  'credential_unavailable',
  'stopping',
  'issuer_unavailable',
  'store_unavailable',
  'audit_unavailable',
  'internal',
]);

export const outcomeOfError = (code: ErrorCode): Outcome => {
  if (DENIED.has(code)) return 'denied';
  return ERRORS.has(code) ? 'error' : 'failure';
};

export const outcomeOfStatus = (status: number): Outcome => {
  if (status >= 500) return 'error';
  if (status === 401 || status === 403) return 'denied';
  return status >= 400 ? 'failure' : 'success';
};

export interface Judged {
  readonly outcome: Outcome;
  /** Code of the JSON-RPC error that the other side answered. */
  readonly rpcCode?: number | undefined;
}

/** The outcome that an answer shows. */
export const judge = (reply: Reply, detectsApplicationErrors: boolean): Judged => {
  if (reply.kind !== 'whole') return SUCCESS;
  if (reply.refusal) return { outcome: outcomeOfError(reply.refusal.code) };
  const outcome = outcomeOfStatus(reply.status);
  if (outcome !== 'success' || !detectsApplicationErrors || !reply.body) return { outcome };
  return applicationErrorIn(reply.body) ?? SUCCESS;
};

const SUCCESS: Judged = { outcome: 'success' };

/** Bytes of an answer in which errors are looked for. */
const PREFIX_BYTES = 4_096;

/** The end of both names that are looked for. */
const ERROR = Buffer.from('rror"');

/**
 * An `error` member of the JSON-RPC response, or `isError` in the result of a tool, within the first bytes. The bytes
 * are read as JSON only where such a text is among them at all.
 */
const applicationErrorIn = (body: Buffer): Judged | undefined => {
  const prefix = body.length > PREFIX_BYTES ? body.subarray(0, PREFIX_BYTES) : body;
  if (!prefix.includes(ERROR)) return undefined;
  let found: Judged | undefined;
  const inResult = (key: string, at: number): number => {
    const end = skipValue(prefix, at);
    if (key === 'isError' && prefix.toString('latin1', at, end) === 'true') found = { outcome: 'application_error' };
    return end;
  };
  try {
    readObject(prefix, 0, (key, at) => {
      if (key === 'error' && isObject(prefix, at)) found = errorAt(prefix, at);
      return key === 'result' && isObject(prefix, at) ? readObject(prefix, at, inResult) : skipValue(prefix, at);
    });
  } catch (error) {
    // The prefix ends within a value.
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  return found;
};

const errorAt = (bytes: Buffer, at: number): Judged => ({ outcome: 'application_error', rpcCode: codeAt(bytes, at) });

const codeAt = (bytes: Buffer, at: number): number | undefined => {
  try {
    const span = memberAt(bytes, at, 'code');
    const code = span && Number(bytes.toString('latin1', span.start, span.end));
    return Number.isSafeInteger(code) ? code : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
};
