import { createHash } from 'node:crypto';
import { lruCache } from '../../process/index.ts';
import type { Account, AccountRecord, UpstreamTokens } from './account-record.ts';
import type { AccountRecords } from './account-records.ts';
import { tokenUnavailable } from './token-unavailable.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface AccountClaimsDeps {
  readonly records: AccountRecords;
  /** The record with a token that is fit for use; throws as the vault does. */
  readonly usable: (of: Account) => Promise<AccountRecord | undefined>;
  readonly upstream: (provider: string) => Pick<ClaimsSource, 'claimsOf'> | undefined;
}

interface ClaimsSource {
  readonly claimsOf: (tokens: UpstreamTokens) => Promise<Claims | undefined>;
}

/** Users whose claims are kept in memory, so that policies see the same value for the same token. */
const MOST_KNOWN = 10_000;

/**
 * The claims of a user's access token at a provider, found once for each token and then kept with it. The same object
 * is returned for the same token.
 */
export const accountClaims = ({ records, usable, upstream }: AccountClaimsDeps) => {
  const known = lruCache<{ readonly of: string; readonly values: Claims }>({ count: MOST_KNOWN, bytes: Infinity });
  const foundFor = async (of: Account, record: AccountRecord): Promise<Claims | undefined> => {
    const digest = digestOf(record.tokens.accessToken);
    if (record.claims?.of === digest) return record.claims.values;
    const found = await upstream(of.provider)
      ?.claimsOf(record.tokens)
      .catch((cause: unknown) => {
        throw tokenUnavailable(of, 'its claims cannot be verified at this moment', { cause });
      });
    // An opaque token has the claims of the sign-in, whose ID token a refresh need not repeat (OpenID Connect Core
    // §12.2).
    const values = found ?? (isJwt(record.tokens.accessToken) ? undefined : record.claims?.values);
    if (values === undefined) return undefined;
    // Not kept where the store is away, or a newer token is there.
    const keep = (current: AccountRecord | undefined) =>
      current?.tokens.accessToken === record.tokens.accessToken
        ? { ...current, claims: { of: digest, values } }
        : undefined;
    await records.change(of, keep).catch(() => {});
    return values;
  };
  return async (of: Account): Promise<Claims | undefined> => {
    const record = await usable(of);
    if (!record) return undefined;
    const key = JSON.stringify([of.user, of.provider]);
    const before = known.get(key);
    const digest = digestOf(record.tokens.accessToken);
    if (before?.of === digest) return before.values;
    const values = await foundFor(of, record);
    if (values) known.set(key, { of: digest, values }, 0);
    return values;
  };
};

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

const isJwt = (token: string): boolean => token.split('.').length === 3;
