import type { Bucket } from './store.ts';

/** Of a bucket that is not asked for so long, every token is back (decisions, "per-user limit keys"). */
export const bucketLifeMs = ({ refillPeriodMs }: Bucket): number => 2 * refillPeriodMs;

/** What is kept of a bucket: the tokens that were in it, and when, in milliseconds since the epoch. `TAKE_TOKENS` reads and writes the same. */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

export type Taken =
  | { readonly isTaken: true; readonly levels: readonly Buffer[] }
  | { readonly isTaken: false; readonly waitMs: number };

/** Takes one token from each, or tells how long it takes until all of them have one. `kept` is what is kept of them, in their order. */
export const takeFrom = (buckets: readonly Bucket[], kept: readonly (Buffer | undefined)[], now: number): Taken => {
  const levels = buckets.map((bucket, index) => levelOf(bucket, kept[index], now));
  const waits = buckets.map(
    ({ capacity, refillPeriodMs }, index) => ((1 - (levels[index]?.tokens ?? 0)) * refillPeriodMs) / capacity,
  );
  const waitMs = Math.ceil(Math.max(0, ...waits));
  if (waitMs > 0) return { isTaken: false, waitMs };
  return { isTaken: true, levels: levels.map(({ tokens, at }) => Buffer.from(`${tokens - 1} ${at}`)) };
};

/** A new bucket is full. Of replicas whose clocks differ, the latest time counts: none refills a bucket twice. */
const levelOf = ({ capacity, refillPeriodMs }: Bucket, kept: Buffer | undefined, now: number): Level => {
  const [, tokens = capacity, at = now] = /^([\d.e-]+) ([\d.e+]+)$/.exec(kept?.toString() ?? '')?.map(Number) ?? [];
  const refilled = tokens + (Math.max(0, now - at) * capacity) / refillPeriodMs;
  return { tokens: Math.min(capacity, refilled), at: Math.max(at, now) };
};
