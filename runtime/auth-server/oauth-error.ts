import { VmcpError } from '../errors.ts';
import type { Answer } from './answer.ts';

/** An answer in the form of RFC 6749 §5.2. */
export const oauthError = (
  status: number,
  error: string,
  { description, headers = {} }: { readonly description?: string; readonly headers?: Answer['headers'] } = {},
): Answer => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache', ...headers },
  body: JSON.stringify({ error, ...(description !== undefined && { error_description: description }) }),
});

/** Seconds after which a client may try again. */
const RETRY_SECONDS = '2';

const TRANSIENT: ReadonlySet<string> = new Set([
  'issuer_unavailable',
  'store_unavailable',
  'credential_unavailable',
  'overloaded',
]);

/** The answer to what has failed on our side, for now: a client keeps its token. Undefined: it is something else. */
export const transientError = (error: unknown): Answer | undefined =>
  error instanceof VmcpError && TRANSIENT.has(error.code)
    ? oauthError(503, 'temporarily_unavailable', {
        description: error.message,
        headers: { 'retry-after': RETRY_SECONDS },
      })
    : undefined;

/** RFC 6585 §4. */
export const tooManyRequests = (retryAfterSeconds: number): Answer =>
  oauthError(429, 'temporarily_unavailable', {
    description: 'too many requests of this address; try again later',
    headers: { 'retry-after': `${retryAfterSeconds}` },
  });
