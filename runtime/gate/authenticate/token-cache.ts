import { hash } from 'node:crypto';
import type { User } from '../../call/index.ts';
import { type LruCache, lruCache } from '../../process/index.ts';
import type { IssuerVerifier } from './issuer-verifier.ts';
import type { RefusedToken } from './verdict.ts';

/** A digest stands for the token, so that no token is a key in memory, and none can be found by its beginning. */
export const tokenKey = (token: string): string => hash('sha256', token, 'base64url');

/** The user of a valid token, and what has found it valid. */
export interface KnownUser {
  readonly kind: 'user';
  readonly user: User;
  readonly verifier: IssuerVerifier;
}

/** What is known of a token without a check. */
export type Known = KnownUser | RefusedToken;

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
 * What was verified by a verifier that stays in force outlives changes of the settings.
 */
export class TokenCache {
  readonly #bounds: TokenCacheBounds;
  #valid: LruCache<Held<KnownUser>>;
  #refused: LruCache<Held<RefusedToken>>;
  /** Tokens that were valid at their last check, under other keys as well. */
  readonly #passed: LruCache<Standing>;
  /**
   * Digests of valid tokens by the end of the token, oldest first. In a token that nobody can guess neither can its end
   * be guessed, so a token is compared as a whole only with one that ends like it.
   */
  readonly #digests = new Map<string, { readonly token: string; readonly key: string }>();
  /** What has verified a user, as long as the keys of its issuer are the same. */
  #verifiers = new WeakMap<User, IssuerVerifier>();
  #generation = 0;

  constructor(bounds: TokenCacheBounds) {
    this.#bounds = bounds;
    this.#valid = lruCache(bounds);
    this.#refused = lruCache(bounds);
    this.#passed = lruCache(bounds);
  }

  /** As `tokenKey`, whose digest is made once for a token that is in use. */
  keyOf(token: string): string {
    const known = this.#digests.get(endOf(token));
    return known?.token === token ? known.key : tokenKey(token);
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

  /** What has verified the user; undefined where keys have changed since. */
  verifierOf(user: User): IssuerVerifier | undefined {
    return this.#verifiers.get(user);
  }

  /** The standing of a token that a check has just found valid. */
  standingOf(key: string): Standing {
    const standing = this.#passed.get(key) ?? { isWithdrawn: false };
    this.#passed.set(key, standing, KEY_BYTES);
    return standing;
  }

  setValid(key: string, known: KnownUser, now: number): void {
    const { user, verifier } = known;
    this.#refused.delete(key);
    const until = Math.min(user.expiresAt ?? Infinity, now + VALID_MS);
    this.standingOf(key);
    this.#verifiers.set(user, verifier);
    this.#valid.set(key, { value: known, until }, bytesOf(user));
    this.#keepDigest(user.token, key);
  }

  #keepDigest(token: string, key: string): void {
    const end = endOf(token);
    this.#digests.delete(end);
    this.#digests.set(end, { token, key });
    const [oldest] = this.#digests.keys();
    if (oldest !== undefined && this.#digests.size > MOST_DIGESTS) this.#digests.delete(oldest);
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

  /** Grows when what was verified is to be verified again: a check that began before is not to be kept. */
  get generation(): number {
    return this.#generation;
  }

  /** Other settings are in force: forgets what they have not verified, and refused tokens, which they may take. */
  retain(isInForce: (verifier: IssuerVerifier) => boolean): void {
    this.#valid.retain(({ value }) => isInForce(value.verifier));
    this.#refused = lruCache(this.#bounds);
  }

  /** Forgets all outcomes: the keys of an issuer have changed. */
  readonly clear = (): void => {
    this.#generation += 1;
    this.#valid = lruCache(this.#bounds);
    this.#refused = lruCache(this.#bounds);
    this.#verifiers = new WeakMap();
    this.#digests.clear();
  };
}

const MOST_DIGESTS = 10_000;
const END_CHARACTERS = 48;

const endOf = (token: string): string => token.slice(-END_CHARACTERS);

const ENTRY_BYTES = 512;
const KEY_BYTES = 128;

/** The claims of a JWT take a few times the room of the token that holds them. */
const bytesOf = ({ token, claims }: User): number =>
  ENTRY_BYTES + token.length + CLAIM_FACTOR * Math.max(token.length, JSON.stringify(claims).length);
const CLAIM_FACTOR = 3;
