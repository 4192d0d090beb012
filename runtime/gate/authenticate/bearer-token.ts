import type { IncomingHttpHeaders } from 'node:http';

/** Longest token: the head of a request has at most 16 KiB. */
export const MAX_TOKEN_CHARACTERS = 12 * 1024;

/**
 * The Bearer credential of the `Authorization` header (RFC 6750 §2.1), undefined without one. No other place is looked
 * at: a token in the query or the body would be in logs (RFC 6750 §5.3), and MCP forbids it ("Access Token Usage").
 * Several headers arrive here joined by commas, which no token has (`joinDuplicateHeaders` of the listener).
 */
export const presentedCredential = ({ authorization }: IncomingHttpHeaders): string | undefined => {
  if (authorization === undefined) return undefined;
  if (authorization.startsWith('Bearer ')) return authorization.slice(SCHEME_LENGTH).trim();
  return BEARER.test(authorization) ? authorization.slice(SCHEME_LENGTH).trim() : undefined;
};

/** RFC 9110 §11.1: schemes are case-insensitive. */
const BEARER = /^bearer(?: |$)/i;
const SCHEME_LENGTH = 'Bearer'.length;

/** Whether a credential can be a token at all (RFC 6750 §2.1: b64token). */
export const isToken = (credential: string): boolean =>
  credential.length <= MAX_TOKEN_CHARACTERS && TOKEN.test(credential);

const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
