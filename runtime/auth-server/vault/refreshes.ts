import { createHash } from 'node:crypto';
import type { Log } from '../../observe/index.ts';
import { backoffMs, type Clock, lruCache, sleep } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import { type Account, type AccountRecord, isSameGrant, type UpstreamTokens, withTokens } from './account-record.ts';
import type { AccountRecords, Change, Changed } from './account-records.ts';
import { acquireLock } from './store-lock.ts';

/** What the vault needs of an upstream provider. */
export interface TokenIssuer {
  /** Changes when tokens of before must not be sent to this provider any more. */
  readonly origin: string;
  /** `previous`: the tokens of before. Throws an error whose `kind` is `refused` with a `code`, or `unavailable`. */
  readonly refresh: (refreshToken: string, previous: UpstreamTokens) => Promise<UpstreamTokens>;
  /** Never throws. */
  readonly revoke: (tokens: UpstreamTokens) => Promise<void>;
}

/** What came of a refresh. */
export type Outcome =
  /** Other tokens than the stale ones, by this refresh or by another replica. */
  | { readonly kind: 'refreshed'; readonly record: AccountRecord }
  /** There is no way to another token but a sign-in. */
  | { readonly kind: 'ended' }
  /** The provider, the store or the replica that refreshes does not answer. Nothing is lost. */
  | { readonly kind: 'unavailable'; readonly cause: unknown; readonly isOutage: boolean };

export interface Stale {
  readonly of: Account;
  /** As it was read, with the token that is to be replaced. */
  readonly record: AccountRecord;
  readonly issuer: TokenIssuer;
  /** The token was refused by a backend before its end. */
  readonly isRefused: boolean;
}

export interface RefreshDeps {
  readonly records: AccountRecords;
  readonly store: Store;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly entropy: (bytes: number) => Buffer;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Called for each refresh that was asked for at a provider. `code`: the provider's word. */
  readonly onRefresh?: ((of: Account, came: Outcome['kind'], code?: string) => void) | undefined;
}

interface Flight {
  readonly outcome: Promise<Outcome>;
  /** Resolves when the tokens are stored, which may be later where the store is away. */
  readonly end: Promise<void>;
}

/** Longest wait for a replica that refreshes: longer than the lock of one that was killed. */
const WAIT_MS = 20_000;
const POLL = { baseMs: 20, maxMs: 250 };
/** A refresh that has failed is not tried again for this time. */
const RETRY_MS = 2_000;
/** How often it is tried to store tokens while the store is away: for about ten minutes. */
const MOST_SAVES = 600;
const SAVE_AGAIN = { baseMs: 50, maxMs: 1_000 };

/** Failures of accounts that are remembered. */
const MOST_FAILURES = 10_000;

/**
 * Refreshes tokens once for all calls of all replicas: calls of this process share a refresh, and replicas exclude each
 * other by a lock in the store. What the provider answers is stored before the lock is released.
 */
export class Refreshes {
  readonly #deps: RefreshDeps;
  readonly #flights = new Map<string, Flight>();
  readonly #failures = lruCache<{ readonly outcome: Outcome; readonly at: number }>({
    count: MOST_FAILURES,
    bytes: Infinity,
  });

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Replaces the token of the record. Never throws. */
  refresh(stale: Stale): Promise<Outcome> {
    const key = keyOf(stale);
    const failure = this.#failures.get(key);
    if (failure && Math.abs(this.#deps.clock.now() - failure.at) < RETRY_MS) return Promise.resolve(failure.outcome);
    const underWay = this.#flights.get(key) ?? this.#begin(key, stale);
    return underWay.outcome;
  }

  /** Resolves when no refresh is under way, and all that providers have answered is stored. */
  async idle(): Promise<void> {
    while (this.#flights.size > 0) await Promise.all([...this.#flights.values()].map(({ end }) => end));
  }

  #begin(key: string, stale: Stale): Flight {
    const outcome = Promise.withResolvers<Outcome>();
    const tell = (each: Outcome): void => {
      if (each.kind === 'unavailable') this.#failures.set(key, { outcome: each, at: this.#deps.clock.now() }, 0);
      outcome.resolve(each);
    };
    const end = this.#run(stale, tell)
      .catch((cause: unknown) => tell({ kind: 'unavailable', cause, isOutage: false }))
      .finally(() => this.#flights.delete(key));
    const flight = { outcome: outcome.promise, end };
    this.#flights.set(key, flight);
    return flight;
  }

  async #run(stale: Stale, tell: (outcome: Outcome) => void): Promise<void> {
    const { clock, random, records } = this.#deps;
    const until = clock.now() + WAIT_MS;
    for (let attempt = 1; clock.now() < until; attempt += 1) {
      const lock = await acquireLock(lockNameOf(stale.of), this.#deps);
      if (lock) {
        try {
          return await this.#runHolding(stale, tell);
        } finally {
          await lock.release();
        }
      }
      const current = await records.read(stale.of);
      if (!isStill(stale, current)) return tell(outcomeOf(stale, current));
      await sleep(clock, backoffMs(attempt, POLL, random));
    }
    throw new Error('the replica that refreshes the token does not end');
  }

  /** Reads the record again: another replica may have held the lock until now. */
  async #runHolding(stale: Stale, tell: (outcome: Outcome) => void): Promise<void> {
    const current = await this.#deps.records.read(stale.of);
    if (!isStill(stale, current)) return tell(outcomeOf(stale, current));
    const { refreshToken } = current.tokens;
    if (refreshToken === undefined) return tell({ kind: 'ended' });
    try {
      const tokens = await stale.issuer.refresh(refreshToken, current.tokens);
      this.#deps.onRefresh?.(stale.of, 'refreshed');
      await this.#save({ ...stale, record: current }, tokens, tell);
    } catch (error) {
      tell(await this.#failed({ ...stale, record: current }, error));
    }
  }

  /** Stores what the provider has answered, however long that takes: the token of before may be good no longer. */
  async #save({ of, record, issuer, isRefused }: Stale, tokens: UpstreamTokens, tell: (outcome: Outcome) => void) {
    const { records, clock, random, log } = this.#deps;
    const obtainedAt = clock.now();
    const renewed = (from: AccountRecord): AccountRecord => ({
      ...withTokens(from, tokens, obtainedAt),
      ...(isRefused && { renewedOnRefusalAt: obtainedAt }),
    });
    const change: Change = (current) => (current && isSameGrant(current, record) ? renewed(current) : undefined);
    for (let attempt = 1; attempt <= MOST_SAVES; attempt += 1) {
      const changed = await records.change(of, change).catch((err: unknown) => {
        if (attempt === 1) log.warn({ err, provider: of.provider }, 'tokens of a provider cannot be stored yet');
        return undefined;
      });
      if (changed) return this.#saved({ of, record, issuer, isRefused }, { tokens, changed }, tell);
      tell({ kind: 'refreshed', record: renewed(record) });
      await sleep(clock, backoffMs(attempt, SAVE_AGAIN, random));
    }
    log.error({ provider: of.provider }, 'tokens of a provider could not be stored; their user has to sign in again');
  }

  async #saved(
    stale: Stale,
    { tokens, changed }: { readonly tokens: UpstreamTokens; readonly changed: Changed },
    tell: (outcome: Outcome) => void,
  ): Promise<void> {
    tell(
      changed.isWritten && changed.record
        ? { kind: 'refreshed', record: changed.record }
        : outcomeOf(stale, changed.record),
    );
    // The user has disconnected the account while the provider answered.
    if (!changed.record) await stale.issuer.revoke(tokens);
  }

  async #failed({ of, record }: Stale, error: unknown): Promise<Outcome> {
    const { records, log, onRefresh } = this.#deps;
    if (!isEnding(error)) {
      onRefresh?.(of, 'unavailable');
      return { kind: 'unavailable', cause: error, isOutage: isAway(error) };
    }
    onRefresh?.(of, 'ended', error.code);
    log.info({ provider: of.provider, code: error.code }, 'a provider takes a refresh token no longer');
    const ended: Change = (current) =>
      current && isSameGrant(current, record) ? { ...current, isEnded: true } : undefined;
    const { record: current } = await records.change(of, ended);
    return current && !current.isEnded ? { kind: 'refreshed', record: current } : { kind: 'ended' };
  }
}

/** A refusal by which the provider asks for a sign-in, whatever else may be mended. */
const isEnding = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error &&
  'kind' in error &&
  error.kind === 'refused' &&
  'code' in error &&
  ENDING.has(String(error.code));

/** RFC 6749 §5.2; GitHub, Slack; OpenID Connect Core §3.1.2.6, as Entra sends them; tokens of somebody else (§12.2). */
const ENDING: ReadonlySet<string> = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
  'interaction_required',
  'login_required',
  'consent_required',
  'subject_mismatch',
]);

const isAway = (error: unknown): boolean => error instanceof Error && 'kind' in error && error.kind === 'unavailable';

/** Whether the token is what is stored, and another one can be had for it. */
const isStill = ({ record, issuer }: Stale, current: AccountRecord | undefined): current is AccountRecord =>
  current !== undefined &&
  !current.isEnded &&
  current.origin === issuer.origin &&
  current.obtainedAt === record.obtainedAt &&
  current.tokens.accessToken === record.tokens.accessToken;

/** What another replica, or a sign-in, has left in the place of the stale token. */
const outcomeOf = ({ issuer }: Stale, current: AccountRecord | undefined): Outcome =>
  current === undefined || current.isEnded || current.origin !== issuer.origin
    ? { kind: 'ended' }
    : { kind: 'refreshed', record: current };

const digestOf = (texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('base64url');

const lockNameOf = ({ user, provider }: Account): string => `refresh:${digestOf([user, provider])}`;

/** Of one token, so that each is refreshed once, whatever the reason. */
const keyOf = ({ of, record, issuer }: Stale): string =>
  digestOf([of.user, of.provider, issuer.origin, record.tokens.accessToken, String(record.obtainedAt)]);
