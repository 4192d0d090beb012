import { createLocalJWKSet, type JWK } from 'jose';
import type { User } from '../../call/index.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { FindKey } from './jwt.ts';

/** An issuer that is part of this process: the embedded authorization server. */
export interface OwnIssuer {
  readonly issuer: string;
  /** The same list as long as no key has changed. Throws `issuer_unavailable` while there are none. */
  readonly publicKeys: () => Promise<readonly JWK[]>;
  /** Calls `listener` when other keys are in force; returns the function that ends it. */
  readonly onKeysChanged: (listener: () => void) => () => void;
  /** `User.upstreamToken` of this user. */
  readonly upstreamTokenOf: (user: Pick<User, 'issuer' | 'subject'>) => User['upstreamToken'];
}

/**
 * The keys of that issuer, without a request. `onChanged`: what was verified with earlier ones may be valid no more.
 */
export const ownKeys = (own: OwnIssuer, onChanged: () => void): IssuerKeys & { readonly close: () => void } => {
  let known: { readonly keys: readonly JWK[]; readonly findKey: FindKey } | undefined;
  const findKey: FindKey = async (header, token) => {
    const keys = await own.publicKeys();
    if (known?.keys !== keys) known = { keys, findKey: createLocalJWKSet({ keys: [...keys] }) };
    return known.findKey(header, token);
  };
  return {
    findKey,
    warm: () => void own.publicKeys().catch(() => {}),
    close: own.onKeysChanged(onChanged),
  };
};
