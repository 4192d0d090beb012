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
  readonly reason: RefusalReason;
  /** The configured issuer that the token says it is of; undefined where it is of none. */
  readonly issuer?: string;
  /** May be read by strangers; names no claim value. */
  readonly description: string;
  /** Scopes that the token would need (RFC 6750 §3). */
  readonly scopes?: readonly string[];
  /** The same token might be valid a moment later: its key is not known yet, or its time has not come. */
  readonly mayBecomeValid?: true;
  /** Refused for its form alone, without a signature or an issuer having been checked. */
  readonly isUnchecked?: true;
}

/** What is wrong with a token, for metrics. */
export type RefusalReason =
  | 'malformed'
  | 'opaque'
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'wrong_type'
  | 'wrong_claims'
  | 'wrong_signature'
  | 'unknown_key'
  | 'expired'
  | 'not_yet_valid'
  | 'inactive'
  | 'revoked'
  | 'insufficient_scope';

export type Claims = Readonly<Record<string, unknown>>;

/** A token that is not valid, whatever it is for. */
export const invalid = (reason: RefusalReason, description: string): RefusedToken => ({
  kind: 'refused',
  code: 'invalid_token',
  reason,
  description,
});

/** The same of a token that is refused for its form alone. */
export const unchecked = (reason: RefusalReason, description: string): RefusedToken => ({
  ...invalid(reason, description),
  isUnchecked: true,
});

/**
 * Seconds by which the clocks of issuers may differ from the own one: `exp` and `nbf` are read with this tolerance (RFC
 * 7519 §4.1.4).
 */
export const CLOCK_TOLERANCE_SECONDS = 30;
