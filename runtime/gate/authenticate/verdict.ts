import type { ErrorCode } from '../../errors.ts';

/** What came of checking one token. */
export type Verdict = ValidToken | RefusedToken;

/** A token of a known issuer for this server, that has not expired. */
export interface ValidToken {
  readonly kind: 'valid';
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
  /** Milliseconds since the epoch, the clock tolerance included; undefined where the issuer did not say. */
  readonly expiresAt: number | undefined;
}

export interface RefusedToken {
  readonly kind: 'refused';
  readonly code: Extract<ErrorCode, 'invalid_token' | 'insufficient_scope'>;
  /** May be read by strangers; names no claim value. */
  readonly description: string;
  /** Scopes that the token would need (RFC 6750 §3). */
  readonly scopes?: readonly string[];
  /** The same token might be valid a moment later: its key is not known yet, or its time has not come. */
  readonly mayBecomeValid?: true;
  /** Refused for its form alone, without a signature or an issuer having been checked. */
  readonly isUnchecked?: true;
}

export type Claims = Readonly<Record<string, unknown>>;

/** A token that is not valid, whatever it is for. */
export const invalid = (description: string): RefusedToken => ({ kind: 'refused', code: 'invalid_token', description });

/** The same of a token that is refused for its form alone. */
export const unchecked = (description: string): RefusedToken => ({ ...invalid(description), isUnchecked: true });

/**
 * Seconds by which the clocks of issuers may differ from the own one: `exp` and `nbf` are read with this tolerance (RFC
 * 7519 §4.1.4).
 */
export const CLOCK_TOLERANCE_SECONDS = 30;
