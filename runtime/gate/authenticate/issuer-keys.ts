import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../observe/index.ts';
import { IssuerUnreachableError } from './issuer-client.ts';
import type { FindKey } from './jwt.ts';
import { issuerUnavailable } from './refusals.ts';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Throws `issuer_unavailable` while there have never been any keys. */
  readonly findKey: FindKey;
  /** Fetches them before the first token comes. Never throws. */
  readonly warm: () => void;
}

/** Keys from the configuration. Throws where they are no JWK set. */
export const fixedKeys = (issuerKeys: JSONWebKeySet): IssuerKeys => ({
  findKey: createLocalJWKSet(usable(issuerKeys)),
  warm: () => {},
});

/** Keys of one issuer at most. */
const MAX_KEYS = 100;

/** Without what no asymmetric signature is verified with. */
const usable = ({ keys }: JSONWebKeySet): JSONWebKeySet => ({
  keys: keys.filter((key) => typeof key === 'object' && key !== null && key.kty !== 'oct').slice(0, MAX_KEYS),
});

export interface FetchedKeysDeps {
  readonly issuer: string;
  /** Throws IssuerUnreachableError. */
  readonly fetchKeys: () => Promise<JSONWebKeySet>;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn' | 'info'>;
  /** Other keys are in force than before: what was verified with them may be valid no more. */
  readonly onChanged: () => void;
}

/**
 * Fetches for keys that are not known which may follow one another at once, so that a rotation fails no token. Key ids
 * that somebody invents cause no more of them, and one in `COOL_DOWN_MS` after that.
 */
export const UNKNOWN_KEY_FETCHES = 4;
/** Time in which one of these fetches comes back; between attempts to fetch old keys again. */
export const COOL_DOWN_MS = 10_000;
/** Time between attempts as long as there are no keys at all. */
export const FIRST_COOL_DOWN_MS = 2_000;
/** Age at which keys are fetched again, so that a withdrawn key is no longer taken. */
export const MAX_AGE_MS = 600_000;

/**
 * Keys that are fetched from the issuer: at the first token, for a key that is not known, and when they are old. One
 * attempt at a time, which all requests share. While the issuer cannot be reached, the keys that are known go on.
 */
export class FetchedKeys implements IssuerKeys {
  readonly #deps: FetchedKeysDeps;
  #known: { readonly keys: JSONWebKeySet; readonly findKey: FindKey } | undefined;
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #attempt: Promise<void> | undefined;
  #isAway = false;
  /** Fetches for unknown keys that were made lately, as of `#countedAt`. */
  #unknownKeyFetches = 0;
  #countedAt = -Infinity;

  constructor(deps: FetchedKeysDeps) {
    this.#deps = deps;
  }

  readonly warm = (): void => void this.#refresh().catch(() => {});

  readonly findKey: FindKey = async (header, token) => {
    if (!this.#known) await this.#refresh();
    else if (this.#deps.now() - this.#fetchedAt >= MAX_AGE_MS) this.warm();
    const known = this.#known;
    if (!known) throw issuerUnavailable();
    try {
      return await known.findKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#refreshForUnknownKey().catch(() => {});
      const newer = this.#known;
      if (newer === undefined || newer === known) throw error;
      return newer.findKey(header, token);
    }
  };

  /** Joins the attempt under way, or begins one unless the last one was just now. Throws where it fails. */
  #refresh(): Promise<void> {
    const coolDownMs = this.#known ? COOL_DOWN_MS : FIRST_COOL_DOWN_MS;
    if (!this.#attempt && this.#deps.now() - this.#triedAt < coolDownMs) return Promise.resolve();
    return this.#attemptNow();
  }

  /** Joins the attempt under way, or begins one unless there were too many for unknown keys. Throws where it fails. */
  #refreshForUnknownKey(): Promise<void> {
    if (this.#attempt) return this.#attempt;
    const now = this.#deps.now();
    const lately = Math.max(0, this.#unknownKeyFetches - (now - this.#countedAt) / COOL_DOWN_MS);
    if (lately > UNKNOWN_KEY_FETCHES - 1) return Promise.resolve();
    this.#unknownKeyFetches = lately + 1;
    this.#countedAt = now;
    return this.#attemptNow();
  }

  #attemptNow(): Promise<void> {
    this.#attempt ??= this.#fetch().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #fetch(): Promise<void> {
    const { fetchKeys, now, log, issuer } = this.#deps;
    this.#triedAt = now();
    try {
      this.#replace(usable(await fetchKeys()));
      this.#fetchedAt = now();
      if (this.#isAway) log.info({ issuer }, 'the keys of the issuer could be fetched again');
      this.#isAway = false;
    } catch (error) {
      if (!(error instanceof IssuerUnreachableError && error.isClosed)) this.#tellOfFailure(error);
      throw error instanceof IssuerUnreachableError ? issuerUnavailable(error.message) : error;
    }
  }

  #replace(keys: JSONWebKeySet): void {
    if (isDeepStrictEqual(keys, this.#known?.keys)) return;
    const isFirst = this.#known === undefined;
    this.#known = { keys, findKey: createLocalJWKSet(keys) };
    if (!isFirst) this.#deps.onChanged();
  }

  #tellOfFailure(error: unknown): void {
    this.#isAway = true;
    const { issuer, log } = this.#deps;
    const reason = error instanceof Error ? error.message : String(error);
    const what = this.#known
      ? 'the keys of the issuer cannot be fetched: known keys go on, tokens signed with other keys are refused'
      : 'the keys of the issuer cannot be fetched: its tokens cannot be checked';
    log.warn({ issuer, reason }, what);
  }
}
