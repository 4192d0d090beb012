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
  if (authorization.startsWith('Bearer ')) return trimmed(authorization.slice(SCHEME_LENGTH + 1));
  return BEARER.test(authorization) ? authorization.slice(SCHEME_LENGTH).trim() : undefined;
};

/** `trim` copies, also where there is nothing to trim. */
const trimmed = (text: string): string =>
  isVisible(text.charCodeAt(0)) && isVisible(text.charCodeAt(text.length - 1)) ? text : text.trim();

const isVisible = (code: number): boolean => code > 0x20 && code < 0x7f;

/** RFC 9110 §11.1: schemes are case-insensitive. */
const BEARER = /^bearer(?: |$)/i;
const SCHEME_LENGTH = 'Bearer'.length;

/** Whether a credential can be a token at all (RFC 6750 §2.1: b64token). */
export const isToken = (credential: string): boolean =>
  credential.length <= MAX_TOKEN_CHARACTERS && TOKEN.test(credential);

const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
