import type { BackendResponse } from '../fetch.ts';

/** Codes for credentials that have ended, or were revoked (AWS "Common Errors"). */
const ENDED = /\b(?:ExpiredToken(?:Exception)?|InvalidClientTokenId|UnrecognizedClientException)\b/;
/** An error of the platform is short, and its code stands in front. */
const SEARCHED_BYTES = 2_048;

/**
 * Whether a backend has refused the credentials of a role. 403 also says that the role may not do this, for which other
 * credentials of it would be of no use.
 */
export const isRefusal = ({ status, headers, body }: BackendResponse): boolean => {
  if (status !== 403) return status === 401;
  return (
    ENDED.test(String(headers['x-amzn-errortype'] ?? '')) || ENDED.test(body.toString('latin1', 0, SEARCHED_BYTES))
  );
};
