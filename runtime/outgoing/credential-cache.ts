import { createHash } from 'node:crypto';
import { type Clock, lruCache, type LruCache } from '../process/index.ts';

/** A credential as its issuer gave it. */
export interface Obtained<V> {
  readonly value: V;
  /**
   * Milliseconds since the epoch, by the clock of the cache; undefined where the issuer did not say (RFC 6749 §5.1:
   * `expires_in` is optional).
   */
  readonly expiresAt: number | undefined;
}

/**
 * Obtains a credential from the issuer, in a bounded time. `signal` aborts when the last waiting caller has given up.
 */
export type Obtain<V> = (signal: AbortSignal) => Promise<Obtained<V>>;

export interface CredentialCacheOptions {
  /**
   * A clock that cannot be set (`steadyClock`). With any other clock, the cache drops everything once it notices that
   * the clock was set back.
   */
  readonly clock: Pick<Clock, 'now'>;
  /** Number of cached credentials; the least recently used one is evicted first. */
  readonly limit: number;
  /**
   * A credential is used until this time before its expiry, or for three quarters of its life where that is longer.
   * Default 30 s.
   */
  readonly skewMs?: number;
  /** How long a credential is used whose expiry is unknown. Default 60 s. */
  readonly unknownLifeMs?: number;
}

/** The skew is at most this part of a credential's life. */
const MAX_SKEW_PART = 0.25;

interface Kept<V> {
  readonly value: V;
  readonly usableUntil: number;
}

/** One request to the issuer and the callers that share it. */
interface Flight<V> {
  readonly answer: Promise<V>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Credentials for backends, each obtained once for all callers that need it at the same time. All waiting callers get a
 * failure, which is not cached: the next caller tries again. The cache adds no error and writes no log.
 */
export class CredentialCache<V> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #limit: number;
  readonly #skewMs: number;
  readonly #unknownLifeMs: number;
  readonly #flights = new Map<string, Flight<V>>();
  #kept: LruCache<Kept<V>>;
  #latest = -Infinity;

  constructor({ clock, limit, skewMs = 30_000, unknownLifeMs = 60_000 }: CredentialCacheOptions) {
    this.#clock = clock;
    this.#limit = limit;
    this.#skewMs = skewMs;
    this.#unknownLifeMs = unknownLifeMs;
    this.#kept = this.#empty();
  }

  /**
   * The credential itself where a valid one is cached, else a promise of the result of `obtain`, which callers
   * meanwhile share: their own `obtain` is not called. Rejects with its error, or with the reason of the signal
   * `wanted`, which ends the wait of this caller alone. A credential that is expired on arrival is returned, since its
   * issuer's clock may differ, but not cached. `key` is a `credentialKey`.
   */
  get(key: string, obtain: Obtain<V>, wanted?: AbortSignal | (() => AbortSignal)): V | Promise<V> {
    const now = this.#now();
    const kept = this.#kept.get(key);
    if (kept && now < kept.usableUntil) return kept.value;
    this.#kept.delete(key);
    const signal = typeof wanted === 'function' ? wanted() : wanted;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return this.#wait(key, this.#flights.get(key) ?? this.#begin(key, obtain), signal);
  }

  /** Forgets a credential that a backend has refused, compared by identity; one that was obtained since stays. */
  drop(key: string, value: V): void {
    if (Object.is(this.#kept.get(key)?.value, value)) this.#kept.delete(key);
  }

  #begin(key: string, obtain: Obtain<V>): Flight<V> {
    const flight: Flight<V> = {
      answer: Promise.resolve().then(() => this.#run(key, flight, obtain)),
      controller: new AbortController(),
      waiting: 0,
    };
    this.#flights.set(key, flight);
    return flight;
  }

  async #run(key: string, flight: Flight<V>, obtain: Obtain<V>): Promise<V> {
    try {
      flight.controller.signal.throwIfAborted();
      const kept = this.#kept;
      const { value, expiresAt } = await obtain(flight.controller.signal);
      const now = this.#now();
      const usableUntil = this.#usableUntil(expiresAt, now);
      // An answer that all callers have given up on must not replace a newer one, and when the clock was set back
      // meanwhile its expiry is not sure.
      const isCurrent = this.#flights.get(key) === flight && this.#kept === kept;
      if (isCurrent && now < usableUntil) this.#kept.set(key, { value, usableUntil }, 0);
      return value;
    } finally {
      this.#end(key, flight);
    }
  }

  #usableUntil(expiresAt: number | undefined, now: number): number {
    if (expiresAt === undefined || !Number.isFinite(expiresAt)) return now + this.#unknownLifeMs;
    return expiresAt - Math.min(this.#skewMs, (expiresAt - now) * MAX_SKEW_PART);
  }

  #wait(key: string, flight: Flight<V>, signal: AbortSignal | undefined): Promise<V> {
    flight.waiting += 1;
    if (!signal) return flight.answer;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        reject(signal.reason);
        this.#leave(key, flight, signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      void flight.answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
    });
  }

  #leave(key: string, flight: Flight<V>, reason: unknown): void {
    flight.waiting -= 1;
    if (flight.waiting > 0) return;
    this.#end(key, flight);
    flight.controller.abort(reason);
  }

  /** Ends a flight; the next caller begins another one. */
  #end(key: string, flight: Flight<V>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  /** The time; drops all credentials when the clock was set back, as they would seem valid beyond their expiry. */
  #now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) this.#kept = this.#empty();
    this.#latest = now;
    return now;
  }

  #empty(): LruCache<Kept<V>> {
    return lruCache({ count: this.#limit, bytes: Infinity });
  }
}

/**
 * A cache key made of everything that a credential depends on: strategy, backend, origin, issuer and subject, subject
 * token. A digest, so that no token stays in memory as a key. JSON keeps the parts apart, whatever they hold.
 */
export const credentialKey = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
