import * as z from 'zod';

/** A user at an upstream provider. */
export interface Account {
  /** `sub` of the tokens that this server issues. */
  readonly user: string;
  readonly provider: string;
}

/** What a provider has issued to a user. */
export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
  readonly scope?: string;
  /** Milliseconds since the epoch; absent: not known. */
  readonly expiresAt?: number;
}

/** Who the user is there. */
export interface Identity {
  readonly subject: string;
  readonly name?: string;
  readonly email?: string;
  /** The provider says that it has verified the address. */
  readonly emailVerified?: true;
}

/** The origins that a backend's requests take a token to, by backend. */
export type Recipients = ReadonlyMap<string, readonly string[]>;

/** What is kept of one user at one provider. */
export interface AccountRecord {
  /** `Upstream.origin` when the tokens were issued; they are sent to no other. */
  readonly origin: string;
  /** Names the sign-in: refreshed tokens belong to it, those of a newer sign-in replace it. */
  readonly signIn: string;
  /** When the user has signed in, in milliseconds since the epoch. */
  readonly since: number;
  readonly identity: Identity;
  readonly tokens: UpstreamTokens;
  /** When the tokens were issued, in milliseconds since the epoch. */
  readonly obtainedAt: number;
  /** The provider takes the refresh token no longer. */
  readonly isEnded: boolean;
  readonly recipients: Recipients;
  /** The last time that the token was refreshed because a backend had refused it. */
  readonly renewedOnRefusalAt?: number;
  readonly claims?: KnownClaims;
}

/** Claims, and the digest of the access token that they were found for. */
export interface KnownClaims {
  readonly of: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Time before the end of a token in which a new one is asked for, and the part of a short life that it is at most. */
const SKEW_MS = 60_000;
const MAX_SKEW_PART = 0.1;

/** Whether the token can be sent, and will last for a while. */
export const isFresh = ({ tokens: { expiresAt }, obtainedAt }: AccountRecord, now: number): boolean =>
  expiresAt === undefined || now < expiresAt - Math.min(SKEW_MS, MAX_SKEW_PART * (expiresAt - obtainedAt));

/** Whether the token can be sent. */
export const isValid = ({ tokens: { expiresAt } }: AccountRecord, now: number): boolean =>
  expiresAt === undefined || now < expiresAt;

/** Whether nothing but a sign-in gives another token, and there is none that could be sent. */
export const isSpent = (record: AccountRecord, now: number): boolean =>
  record.isEnded || (record.tokens.refreshToken === undefined && !isValid(record, now));

/**
 * Whether both are of one person at one provider. A browser may have been signed in there as somebody else without its
 * user: what is meant for the user's account does not go to that one before the user has agreed.
 */
export const isSameAccount = (
  some: Pick<AccountRecord, 'origin' | 'identity'>,
  other: Pick<AccountRecord, 'origin' | 'identity'>,
): boolean => some.origin === other.origin && some.identity.subject === other.identity.subject;

/** Whether both have the same refresh token of the same sign-in, so that what one gives is good for the other. */
export const isSameGrant = (some: AccountRecord, other: AccountRecord): boolean =>
  some.signIn === other.signIn && some.tokens.refreshToken === other.tokens.refreshToken;

/** The tokens in place of the earlier ones; what the provider has left out stays (RFC 6749 §6). */
export const withTokens = (record: AccountRecord, tokens: UpstreamTokens, now: number): AccountRecord => {
  const { expiresAt: _ended, ...earlier } = record.tokens;
  return { ...record, tokens: { ...earlier, ...tokens }, obtainedAt: now, isEnded: false };
};

/** Whether the user has agreed that this backend's requests take the token to all of these origins. */
export const isMeantFor = ({ recipients }: AccountRecord, backend: string, origins: readonly string[]): boolean => {
  const agreed = recipients.get(backend) ?? [];
  return origins.length > 0 && origins.every((origin) => agreed.includes(origin));
};

const recordSchema = z.object({
  origin: z.string(),
  signIn: z.string(),
  since: z.number(),
  identity: z.object({
    subject: z.string(),
    name: z.string().exactOptional(),
    email: z.string().exactOptional(),
    emailVerified: z.literal(true).exactOptional(),
  }),
  tokens: z.object({
    accessToken: z.string(),
    refreshToken: z.string().exactOptional(),
    idToken: z.string().exactOptional(),
    scope: z.string().exactOptional(),
    expiresAt: z.number().exactOptional(),
  }),
  obtainedAt: z.number(),
  isEnded: z.boolean(),
  recipients: z.array(z.tuple([z.string(), z.array(z.string())])),
  renewedOnRefusalAt: z.number().exactOptional(),
  claims: z.object({ of: z.string(), values: z.record(z.string(), z.unknown()) }).exactOptional(),
});

export const encodeRecord = (record: AccountRecord): Buffer =>
  Buffer.from(JSON.stringify({ ...record, recipients: [...record.recipients] }));

/** Undefined: this version does not know the form. Newer versions may add members, which are dropped. */
export const decodeRecord = (text: Buffer): AccountRecord | undefined => {
  const { data } = recordSchema.safeParse(JSON.parse(text.toString()));
  return data && { ...data, recipients: new Map(data.recipients) };
};
