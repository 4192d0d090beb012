import { hash } from 'node:crypto';
import type { User } from '../../call/index.ts';
import { type LruCache, lruCache } from '../../process/index.ts';
import type { RefusedToken } from './verdict.ts';

/** A digest stands for the token, so that no token is a key in memory, and none can be found by its beginning. */
export const tokenKey = (token: string): string => hash('sha256', token, 'base64url');

/** What is known of a token without a check. */
export type Known = { readonly kind: 'user'; readonly user: User } | RefusedToken;

export interface TokenCacheBounds {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Longest time for which a token is taken without another check: its key may have been withdrawn, or itself revoked.
 */
export const VALID_MS = 60_000;
/** Longest time for which a token is refused without another check. */
export const REFUSED_MS = 10_000;

/** What became of a token; one for all users that its checks gave, and changed by later checks. */
export interface Standing {
  isWithdrawn: boolean;
}

interface Held<T> {
  readonly value: T;
  readonly until: number;
}

/**
 * The outcome of the checks of tokens. Valid and refused ones are apart, so that no bad token drives out a good one.
 */
export class TokenCache {
  readonly #bounds: TokenCacheBounds;
  #valid: LruCache<Held<Extract<Known, { kind: 'user' }>>>;
  #refused: LruCache<Held<RefusedToken>>;
  /** Tokens that were valid at their last check, under other keys as well. */
  readonly #passed: LruCache<Standing>;

  constructor(bounds: TokenCacheBounds) {
    this.#bounds = bounds;
    this.#valid = lruCache(bounds);
    this.#refused = lruCache(bounds);
    this.#passed = lruCache(bounds);
  }

  /** Undefined: the token has to be checked. */
  get(key: string, now: number): Known | undefined {
    const held = this.#valid.get(key) ?? this.#refused.get(key);
    return held !== undefined && now < held.until ? held.value : undefined;
  }

  /** Whether this token was valid when it was checked last, however long ago that is. */
  wasValid(key: string): boolean {
    return this.#passed.get(key) !== undefined;
  }

  /** The standing of a token that a check has just found valid. */
  standingOf(key: string): Standing {
    const standing = this.#passed.get(key) ?? { isWithdrawn: false };
    this.#passed.set(key, standing, KEY_BYTES);
    return standing;
  }

  setValid(key: string, user: User, now: number): void {
    this.#refused.delete(key);
    const until = Math.min(user.expiresAt ?? Infinity, now + VALID_MS);
    this.standingOf(key);
    this.#valid.set(key, { value: { kind: 'user', user }, until }, bytesOf(user));
  }

  setRefused(key: string, refusal: RefusedToken, now: number): void {
    this.#valid.delete(key);
    const standing = this.#passed.get(key);
    if (standing) standing.isWithdrawn = true;
    this.#passed.delete(key);
    if (!refusal.mayBecomeValid) this.#refused.set(key, { value: refusal, until: now + REFUSED_MS }, ENTRY_BYTES);
  }

  get size(): { readonly valid: number; readonly refused: number } {
    return { valid: this.#valid.count(), refused: this.#refused.count() };
  }

  clear(): void {
    this.#valid = lruCache(this.#bounds);
    this.#refused = lruCache(this.#bounds);
  }
}

const ENTRY_BYTES = 512;
const KEY_BYTES = 128;

/** The claims of a JWT take a few times the room of the token that holds them. */
const bytesOf = ({ token, claims }: User): number =>
  ENTRY_BYTES + token.length + CLAIM_FACTOR * Math.max(token.length, JSON.stringify(claims).length);
const CLAIM_FACTOR = 3;
