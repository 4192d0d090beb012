import type { Log } from '../../observe/index.ts';
import { atMost, type Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import type { Secrets } from '../keys/secrets.ts';
import {
  type Account,
  type AccountRecord,
  type Identity,
  isFresh,
  isMeantFor,
  isSameAccount,
  isSpent,
  isValid,
  type Recipients,
  type UpstreamTokens,
} from './account-record.ts';
import { AccountRecords } from './account-records.ts';
import { accountClaims, type Claims } from './account-claims.ts';
import { consent, type ConsentQuestion } from './consent.ts';
import { type Outcome, type RefreshDeps, Refreshes, type TokenIssuer } from './refreshes.ts';
import { sealing } from './sealing.ts';
import { tokenUnavailable } from './token-unavailable.ts';

/** What a token is wanted for. */
export interface TokenUse {
  /** The backend whose requests carry the token, or what is had for it. Absent: it stays in this server. */
  readonly backend?: string;
  /** Origins that the token, or what is had for it, is sent to. */
  readonly recipients?: readonly string[];
  /** A token that a recipient has refused although it has not expired. */
  readonly refused?: string;
}

/** An account, as its user may see it. */
export interface LinkedAccount {
  readonly provider: string;
  readonly identity: Identity;
  /** When the user has signed in there, in milliseconds since the epoch. */
  readonly since: number;
  readonly state: 'linked' | 'needs-sign-in';
}

/** The tokens of users at upstream providers. Every method throws VmcpError where the store is away. */
export interface TokenVault {
  /**
   * Keeps the tokens of a sign-in in place of earlier ones. Who gets them stays what the user has agreed to before, for
   * this very account: at first nobody. `origin`: that of the upstream that has issued the tokens; default: of the one
   * that is configured.
   */
  readonly put: (of: Account, tokens: UpstreamTokens, identity: Identity, origin?: string) => Promise<void>;
  /** What a page of consent has to name: who gets the user's tokens as it is configured now. */
  readonly question: (user: string) => Promise<ConsentQuestion>;
  /**
   * The user has agreed to what the question of this digest named. False: meanwhile the answer to the question would be
   * another one, and nothing was changed.
   */
  readonly agree: (user: string, digest: string) => Promise<boolean>;
  /** The user has agreed that exactly these get the tokens of this account. */
  readonly agreeTo: (of: Account, recipients: Recipients) => Promise<void>;
  /**
   * A token fit for use. Undefined: the user has to sign in there, for the first time or again. Throws VmcpError
   * `credential_unavailable` where the provider or the store is away.
   */
  readonly accessToken: (of: Account, use: TokenUse) => Promise<string | undefined>;
  /** Claims of the access token, for policies. Undefined: there is no token, or it has none. Throws as `accessToken` */
  readonly claims: (of: Account) => Promise<Claims | undefined>;
  readonly linked: (user: string) => Promise<readonly LinkedAccount[]>;
  /** Forgets the accounts of the user, or one of them, at once, then revokes the tokens at the provider. */
  readonly remove: (user: string, provider?: string) => Promise<void>;
  /** Resolves when no refresh is under way, and all that providers have answered is stored. */
  readonly close: () => Promise<void>;
}

/** What the vault needs of an upstream provider. */
export interface VaultUpstream extends TokenIssuer {
  readonly claimsOf: (tokens: UpstreamTokens) => Promise<Claims | undefined>;
}

export interface VaultDeps {
  readonly store: Store;
  readonly secrets: Secrets;
  /** What is kept under one text is nothing under another. */
  readonly boundTo: () => string;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Random bytes that nobody can guess. */
  readonly entropy: (bytes: number) => Buffer;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** The provider as it is configured now. */
  readonly upstream: (provider: string) => VaultUpstream | undefined;
  /** The backends that use the provider as they are configured now. */
  readonly recipientsOf: (provider: string) => Recipients;
  /** Lifetime of refresh tokens: how long an account is kept that nobody uses. */
  readonly lifeMs: number;
  /** As in `RefreshDeps`. */
  readonly onRefresh?: RefreshDeps['onRefresh'];
}

/** Longest wait for a provider by a call that has a token which is still good. */
const PATIENCE_MS = 2_000;
/** A backend that refuses a token which was renewed for a refusal gets no other one for this time. */
const RENEWED_MS = 60_000;
/** Longest wait for the revocation of tokens that are forgotten already. */
const REVOKE_MS = 5_000;

const SIGN_IN_BYTES = 12;

export const tokenVault = (deps: VaultDeps): TokenVault => {
  const { store, clock, entropy, lifeMs } = deps;
  const records = new AccountRecords({ store, lifeMs, sealing: sealing(deps) });
  const refreshes = new Refreshes({ ...deps, records });
  const accounts: Accounts = { ...deps, records, refreshes };
  return {
    put: async (of, tokens, identity, origin = upstreamOf(deps, of).origin) => {
      const now = clock.now();
      const signIn = entropy(SIGN_IN_BYTES).toString('base64url');
      const record = { origin, signIn, since: now, identity, tokens, obtainedAt: now, isEnded: false };
      await records.change(of, (before) => ({
        ...record,
        recipients: before && isSameAccount(before, record) ? before.recipients : NOBODY,
      }));
    },
    ...consent({ ...deps, records }),
    accessToken: async (of, use) => (await usable(accounts, of, use))?.tokens.accessToken,
    claims: accountClaims({ ...deps, records, usable: (of) => usable(accounts, of, {}) }),
    linked: async (user) => (await records.readAll(user)).map(([provider, record]) => shown(deps, provider, record)),
    remove: (user, provider) => remove(accounts, user, provider),
    close: () => refreshes.idle(),
  };
};

const NOBODY: Recipients = new Map();

interface Accounts extends VaultDeps {
  readonly records: AccountRecords;
  readonly refreshes: Refreshes;
}

/** The record with a token fit for this use. */
const usable = async (accounts: Accounts, of: Account, use: TokenUse): Promise<AccountRecord | undefined> => {
  const { clock, records } = accounts;
  const issuer = upstreamOf(accounts, of);
  const record = await records.read(of).catch((cause: unknown) => {
    throw tokenUnavailable(of, 'what is kept of users does not answer', { cause });
  });
  if (!record || record.isEnded || record.origin !== issuer.origin || !isAgreed(record, use)) return undefined;
  const isRefused = use.refused === record.tokens.accessToken;
  if (!isRefused && isFresh(record, clock.now())) return record;
  if (isRefused && clock.now() - (record.renewedOnRefusalAt ?? -Infinity) < RENEWED_MS) return undefined;
  const isGood = !isRefused && isValid(record, clock.now());
  if (record.tokens.refreshToken === undefined) return isGood ? record : undefined;
  const newer = await refreshed(accounts, { of, record, issuer, isRefused }, isGood);
  if (newer === undefined || newer.tokens.accessToken !== use.refused) return newer;
  if (isRefused) return undefined;
  throw tokenUnavailable(of, 'the newest one was refused, and is not stored yet');
};

const refreshed = async (
  { clock, refreshes }: Accounts,
  stale: Parameters<Refreshes['refresh']>[0],
  isGood: boolean,
): Promise<AccountRecord | undefined> => {
  const { of, record } = stale;
  const refresh = refreshes.refresh(stale);
  // The refresh goes on meanwhile.
  if (isGood && !(await atMost(clock, PATIENCE_MS, refresh))) return record;
  const outcome = await refresh;
  if (outcome.kind === 'unavailable') return isGood ? record : fail(of, outcome);
  return outcome.kind === 'ended' ? undefined : outcome.record;
};

const fail = (of: Account, { cause, isOutage }: Extract<Outcome, { kind: 'unavailable' }>): never => {
  throw tokenUnavailable(of, 'it cannot be refreshed at this moment', { cause, isOutage });
};

const isAgreed = (record: AccountRecord, { backend, recipients = [] }: TokenUse): boolean =>
  backend === undefined || isMeantFor(record, backend, recipients);

const upstreamOf = (deps: Pick<VaultDeps, 'upstream'>, of: Account): VaultUpstream => {
  const upstream = deps.upstream(of.provider);
  if (!upstream) throw tokenUnavailable(of, 'there is no such provider');
  return upstream;
};

const shown = (deps: VaultDeps, provider: string, record: AccountRecord): LinkedAccount => {
  const { identity, since, origin } = record;
  const isUsable = origin === deps.upstream(provider)?.origin && !isSpent(record, deps.clock.now());
  return { provider, identity, since, state: isUsable ? 'linked' : 'needs-sign-in' };
};

const remove = async (accounts: Accounts, user: string, provider: string | undefined): Promise<void> => {
  const { records, clock } = accounts;
  const removed: (readonly [provider: string, record: AccountRecord])[] = [];
  if (provider === undefined) {
    removed.push(...(await records.readAll(user)));
    await records.removeAll(user);
  } else {
    const record = await records.remove({ user, provider });
    if (record) removed.push([provider, record]);
  }
  const revocations = removed.map(async ([name, { origin, tokens }]) => {
    const upstream = accounts.upstream(name);
    // Tokens of an earlier provider of the name are for that one alone.
    if (upstream?.origin === origin) await upstream.revoke(tokens);
  });
  await atMost(clock, REVOKE_MS, Promise.all(revocations));
};
