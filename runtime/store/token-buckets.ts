import type { Bucket } from './store.ts';

/** A bucket that is not used for this time is full again (docs/decisions.md "Limits per replica"). */
export const bucketLifeMs = ({ refillPeriodMs }: Bucket): number => 2 * refillPeriodMs;

/**
 * The stored state of a bucket: its tokens at the time `at`, in milliseconds since the epoch. `TAKE_TOKENS` reads and
 * writes the same.
 */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

export type TakeResult =
  | { readonly isTaken: true; readonly levels: readonly Buffer[] }
  | { readonly isTaken: false; readonly waitMs: number };

/**
 * Takes one token from each bucket, or returns the time in ms until all of them have one. `kept`: the stored states, in
 * the order of the buckets.
 */
export const takeFrom = (
  buckets: readonly Bucket[],
  kept: readonly (Buffer | undefined)[],
  now: number,
): TakeResult => {
  const levels = buckets.map((bucket, index) => levelOf(bucket, kept[index], now));
  const waits = buckets.map(
    ({ capacity, refillPeriodMs }, index) => ((1 - (levels[index]?.tokens ?? 0)) * refillPeriodMs) / capacity,
  );
  const waitMs = Math.ceil(Math.max(0, ...waits));
  if (waitMs > 0) return { isTaken: false, waitMs };
  return { isTaken: true, levels: levels.map(({ tokens, at }) => Buffer.from(`${tokens - 1} ${at}`)) };
};

/**
 * A new bucket is full. Where the clocks of replicas differ, the latest time counts, so that no bucket is refilled
 * twice.
 */
const levelOf = ({ capacity, refillPeriodMs }: Bucket, kept: Buffer | undefined, now: number): Level => {
  const [, tokens = capacity, at = now] = /^([\d.e-]+) ([\d.e+]+)$/.exec(kept?.toString() ?? '')?.map(Number) ?? [];
  const refilled = tokens + (Math.max(0, now - at) * capacity) / refillPeriodMs;
  return { tokens: Math.min(capacity, refilled), at: Math.max(at, now) };
};
