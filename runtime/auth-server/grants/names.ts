import { digest, partOf, PARTS, type QuotaGroup, STORE_LIMITS } from '../../store/index.ts';

/**
 * Name of something in the store, one-way: ids of 126 random bits and more cannot be guessed from it. No secret is in
 * it, so that one look-up is enough however many secrets there are; a secret is needed to open what is found.
 */
export const nameOf = (what: string, id: string): string => digest(JSON.stringify([what, id]));

/** What maps are counted as, and how many there may be of them, approximately. */
export interface Quota {
  readonly of: string;
  readonly limit: number;
}

/** In a cluster a map and its quota group are on one node: each part of the names counts for itself. */
export const groupOf = (name: string, { of, limit }: Quota): QuotaGroup => ({
  name: `${of}:{${partOf(name)}}`,
  limit: Math.ceil(limit / PARTS),
});

/** Life in the store; no entry is without an end. */
export const lifeMs = (seconds: number | undefined): number =>
  Math.min(STORE_LIMITS.ttlMs, Math.max(1, (seconds ?? Infinity) * 1_000));

/** What the entries of one user are counted by. */
export const userName = (user: string): string => nameOf('user', user);
