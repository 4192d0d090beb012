import type { AuthServer } from './auth-server/index.ts';
import type { Caller, User } from './call/index.ts';
import type { Clock } from './process/index.ts';
import { type Ended, type Revoked, userRevocations } from './revocations/index.ts';
import { prefixed, type Store } from './store/index.ts';

export type UserId = Pick<User, 'issuer' | 'subject'>;

/** Ends the access of users (docs/users.md). */
export interface UserRevocation {
  /** As `IsRevoked` of the gate. */
  readonly isRevoked: (user: UserId, issuedAtMs: number) => boolean | undefined;
  /** Resolves when the revocations of other replicas are known here. */
  readonly isLoaded: Promise<void>;
  /** Throws VmcpError where a store does not answer; then it is to be repeated. */
  readonly revoke: (user: UserId) => Promise<RevokedUser>;
  /** `end` runs at every replica for every user whose access ends. */
  readonly onRevoked: (end: (isMeant: (caller: Caller) => boolean) => Ended) => void;
}

export interface RevokedUser extends Revoked {
  /** Providers of the authorization server at which the user had an account here. */
  readonly accounts: readonly string[];
  /** Other replicas know of it, too, where there are any. */
  readonly isShared: boolean;
}

export interface UserRevocationDeps {
  readonly clock: Clock;
  /** That of the sessions. */
  readonly store: Store;
  /** Other replicas use it, too. */
  readonly isShared: boolean;
  readonly onStop: (close: () => Promise<void>) => void;
  readonly server: AuthServer | undefined;
}

/** Longest life of a token of another issuer, as far as it is known here. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** What an issuer issues in this time after a revocation may be older than it: by its clock, or on the way here. */
const TOLERANCE_MS = 30_000;

/**
 * Users of the authorization server are ended in its store, with all that it keeps of them; those of other issuers in
 * the store of the sessions, for the tokens that they have.
 */
export const userRevocation = (deps: UserRevocationDeps): UserRevocation => {
  const { server, isShared } = deps;
  const others = userRevocations({ ...deps, store: prefixed(deps.store, 'users:'), keptMs: KEPT_MS });
  deps.onStop(async () => others.close());
  return {
    isRevoked: (user, issuedAtMs) =>
      server?.issuer === user.issuer
        ? server.users.isRevoked(user.subject, issuedAtMs)
        : others.isRevoked(nameOf(user), issuedAtMs - TOLERANCE_MS),
    isLoaded: Promise.all([others.isLoaded, server?.users.isLoaded]).then(() => undefined),
    revoke: async (user) =>
      server?.issuer === user.issuer
        ? server.users.revoke(user.subject)
        : { ...(await others.revoke(nameOf(user))), accounts: [], isShared },
    onRevoked: (end) => {
      others.onRevoked((isMeant) => end((caller) => caller.kind === 'user' && isMeant(nameOf(caller))));
      server?.users.onRevoked((isMeant) =>
        end((caller) => caller.kind === 'user' && caller.issuer === server.issuer && isMeant(caller.subject)),
      );
    },
  };
};

/** Every request asks, and a user is one value as long as the token is cached. */
const names = new WeakMap<UserId, string>();

const nameOf = (user: UserId): string => {
  const before = names.get(user);
  if (before !== undefined) return before;
  const name = JSON.stringify([user.issuer, user.subject]);
  names.set(user, name);
  return name;
};
