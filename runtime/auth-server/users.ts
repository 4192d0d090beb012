import { type Clock, atMost } from '../process/index.ts';
import { type Revoked, type UserRevocations, userRevocations } from '../revocations/index.ts';
import { prefixed, type Store } from '../store/index.ts';
import { VmcpError } from '../errors.ts';
import { markRevoked } from './grants/revoked-users.ts';
import { GRANTS } from './store-prefixes.ts';
import type { TokenVault } from './vault/vault.ts';

/** The users of the authorization server, by the subject of their tokens, as far as their access can be ended. */
export interface Users extends Pick<UserRevocations, 'isLoaded' | 'isRevoked' | 'onRevoked'> {
  /**
   * Ends grants, codes, refresh tokens and access tokens of the user, forgets the accounts at identity providers, and
   * revokes their tokens there. Throws VmcpError where the store does not answer; then it is to be repeated.
   */
  readonly revoke: (user: string) => Promise<RevokedAccounts>;
  /**
   * Whether a login that has begun at that time ends without tokens for this user. Throws VmcpError where that is not
   * known in two seconds.
   */
  readonly mayNotSignIn: (user: string, begunAtMs: number) => Promise<boolean>;
  readonly close: () => void;
}

export interface RevokedAccounts extends Revoked {
  /** Names of the providers. */
  readonly accounts: readonly string[];
  readonly isShared: boolean;
}

export interface UsersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly isShared: boolean;
  /** Longest life of an access token. */
  readonly accessMs: number;
  readonly vault: Pick<TokenVault, 'linked' | 'remove'>;
}

/** Sessions and logins last for less, and so do most access tokens. */
const KEPT_MS = 24 * 3_600_000;
/** A request that was under way, maybe at another replica, may grant or issue something in this time afterwards. */
const TOLERANCE_MS = 2_000;
const LOAD_MS = 2_000;

export const usersOf = ({ vault, ...deps }: UsersDeps): Users => {
  const { store, isShared } = deps;
  const revocations = userRevocations({
    ...deps,
    store: prefixed(store, 'users:'),
    keptMs: Math.max(KEPT_MS, deps.accessMs),
  });
  const grants = prefixed(store, GRANTS);
  return {
    isRevoked: (user, issuedAtMs) => revocations.isRevoked(user, issuedAtMs - TOLERANCE_MS),
    mayNotSignIn: async (user, begunAtMs) => {
      await atMost(deps.clock, LOAD_MS, revocations.isLoaded);
      const isRevoked = revocations.isRevoked(user, begunAtMs);
      if (isRevoked === undefined) throw new VmcpError('store_unavailable', 'it is not known yet who has access');
      return isRevoked;
    },
    revoke: async (user) => {
      const marked = markRevoked(grants, user, deps.clock.now() + TOLERANCE_MS);
      const [revoked] = await Promise.all([revocations.revoke(user), marked]);
      const accounts = (await vault.linked(user)).map(({ provider }) => provider);
      await vault.remove(user);
      return { ...revoked, accounts, isShared };
    },
    isLoaded: revocations.isLoaded,
    onRevoked: revocations.onRevoked,
    close: revocations.close,
  };
};
