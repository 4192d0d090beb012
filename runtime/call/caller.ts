/** The caller of a request. Passed as a parameter, never through an implicit context. */
export type Caller =
  | { readonly kind: 'anonymous' }
  | User
  /** The gateway itself, for lists and health checks. */
  | { readonly kind: 'probe' };

/** A user, authenticated by a token. The same user with a newer token is another value. */
export interface User {
  readonly kind: 'user';
  readonly issuer: string;
  /** Unique at the issuer. */
  readonly subject: string;
  /** All verified claims of the token, or of its introspection; `iss` and `sub` in any case. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The token as it was presented. A secret: only for strategies that exchange it, never for logs or storage. */
  readonly token: string;
  /** When the token ends, in milliseconds since the epoch; undefined where that is not known. */
  readonly expiresAt: number | undefined;
  /** Whether the same token was refused when it was presented later: it was revoked, or its key withdrawn. */
  readonly isWithdrawn?: () => boolean;
  /**
   * The user's access token at an upstream provider of the authorization server, fit for use. Undefined: the user has
   * to sign in there first, or again.
   */
  readonly upstreamToken: (provider: string, use: UpstreamTokenUse) => Promise<string | undefined>;
}

/** What a token of an upstream provider is for: the user has agreed to its recipients, or gets no token for them. */
export interface UpstreamTokenUse {
  readonly backend: string;
  /** Origins that the token, or what is had for it, is sent to. */
  readonly recipients: readonly string[];
  /** A token that a recipient has refused although it has not expired; the answer is another one. */
  readonly refused?: string;
}

/** A key that is equal for the same callers, as `isSameCaller` compares them. */
export const callerKey = (caller: Caller): string => (caller.kind === 'user' ? keysOf(caller).ofUser : caller.kind);

/**
 * As `callerKey`, but different for each client of a user: another client of the same user may have fewer rights. RFC
 * 9068 §2.2 has `client_id`, OpenID Connect Core §2 `azp`.
 */
export const clientKey = (caller: Caller): string => (caller.kind === 'user' ? keysOf(caller).ofClient : caller.kind);

interface Keys {
  readonly ofUser: string;
  readonly ofClient: string;
}

/** Every request asks for them, and a user is one value as long as the token is cached. */
const known = new WeakMap<User, Keys>();

const keysOf = (user: User): Keys => {
  const before = known.get(user);
  if (before) return before;
  const { issuer, subject, claims } = user;
  const keys = {
    ofUser: JSON.stringify([issuer, subject]),
    ofClient: JSON.stringify([issuer, subject, claims['client_id'] ?? claims['azp']]),
  };
  known.set(user, keys);
  return keys;
};

/** Whether both are the same user, by issuer and subject, or of the same kind. */
export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.kind === 'user' && b.kind === 'user' ? a.issuer === b.issuer && a.subject === b.subject : a.kind === b.kind;

/**
 * Header by which one vmcp runtime hands a credential to another that passes it on. Not `Authorization`, which clients
 * send of themselves: what they mean for this server must not reach another one.
 */
export const RELAYED_AUTHORIZATION = 'vmcp-relayed-authorization';

/** Issuer of users whose token nobody has verified here; no issuer of tokens has such a name, as theirs are URLs. */
export const UNVERIFIED_ISSUER = 'unverified';
