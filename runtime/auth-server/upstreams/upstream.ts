/** An identity provider that users are sent to: one sign-in of a login, and the tokens that it gives. */
export interface Upstream {
  readonly name: string;
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
  /** Where the browser is sent. Throws UpstreamError. */
  readonly authorizationUrl: (request: UpstreamRequest) => Promise<URL>;
  /**
   * Redeems the code. `answer`: the query of the redirect back (code, state, iss, error …), for the request that its
   * state belongs to. Throws UpstreamError.
   */
  readonly redeem: (answer: URLSearchParams, request: UpstreamRequest) => Promise<UpstreamLogin>;
  /**
   * Asks for new tokens. What the provider leaves out (the refresh token where it does not rotate, the scope, the ID
   * token) is that of `previous`. Throws UpstreamError.
   */
  readonly refresh: (refreshToken: string, previous?: UpstreamTokens) => Promise<UpstreamTokens>;
  /** Revokes the tokens where the provider offers it (RFC 7009). Never throws. */
  readonly revoke: (tokens: UpstreamTokens) => Promise<void>;
  /**
   * Claims for policies: of the access token when it is a JWT that the provider's keys verify, else of the ID token.
   * Undefined: there are none, or the access token has expired. Throws UpstreamError while the keys cannot be had.
   */
  readonly claimsOf: (tokens: UpstreamTokens) => Promise<Claims | undefined>;
  /** Changes when tokens of before must not be sent to this provider any more. */
  readonly origin: string;
}

/** What an authorization request to a provider is bound to, made anew for each. */
export interface UpstreamRequest {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636 §4.1. */
  readonly codeVerifier: string;
}

export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Verified. */
  readonly idToken?: string;
  readonly scope?: string;
  /** Milliseconds since the epoch. Absent: the provider did not say. */
  readonly expiresAt?: number;
}

export interface UpstreamLogin {
  readonly identity: Identity;
  readonly tokens: UpstreamTokens;
}

/** A user, as the provider knows them. */
export interface Identity {
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  /** The provider says that it has verified the address. */
  readonly emailVerified?: true;
}

export type Claims = Readonly<Record<string, unknown>>;

/**
 * A provider did not do what it was asked for. `refused`: it said no, or named nobody, and only the user or the owner
 * can mend it; `code` is a word of RFC 6749 or of this room. `unavailable`: it said nothing that counts (transport,
 * HTTP 5xx and 429, no JSON); the same request may succeed later. The message is fit for logs, and holds no secret.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly kind: 'refused' | 'unavailable';
  readonly code: string;
  /** Name of the provider; set by what `makeUpstream` makes. */
  provider: string | undefined;

  constructor(kind: 'refused' | 'unavailable', code: string, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

export const refused = (code: string, message: string): UpstreamError => new UpstreamError('refused', code, message);

export const unavailable = (code: string, message: string): UpstreamError =>
  new UpstreamError('unavailable', code, message);
