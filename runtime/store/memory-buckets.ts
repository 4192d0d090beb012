import type { Clock } from '../process/index.ts';
import type { Bucket, Store, Taken, TokenCount } from './store.ts';
import { bucketLifeMs, type BucketState, countIn, takeFrom } from './token-buckets.ts';

interface Kept extends BucketState {
  readonly endsAtMs: number;
}

/** Buckets with an overflow key that are kept at a time, beside those without. */
const BUCKETS = 100_000;

/** Times between two searches for buckets that have ended, which take as long as there are buckets. */
const SWEEP_MS = 60_000;
const SWEEP_AT_BOUND_MS = 1_000;

/**
 * Token buckets in this process. At the bound, further buckets are counted together under their overflow keys until
 * others have ended: dropping a bucket that is not full would let its user begin anew, and refusing would lock out
 * those who come later (docs/rate-limits.md "Bounds").
 */
export class MemoryBuckets {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #limit: number;
  readonly #buckets = new Map<string, Kept>();
  /** Those without an overflow key, and those that share one. */
  readonly #unbounded = new Map<string, Kept>();
  #sweptAtMs = -Infinity;

  constructor(clock: Pick<Clock, 'now'>, limit: number = BUCKETS) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** As `Store.takeTokens`. */
  take(buckets: readonly Bucket[]): Taken {
    const nowMs = this.#clock.now();
    this.#sweepEvery(SWEEP_MS, nowMs);
    const places = buckets.map((bucket) => this.#placeOf(bucket, nowMs));
    const kept = places.map(({ map, key }) => liveIn(map, key, nowMs));
    const taken = takeFrom(buckets, kept, Math.floor(nowMs * 1_000));
    if (!taken.isTaken) return { waitMs: taken.waitMs, emptyAt: taken.emptyAt };
    for (const [index, bucket] of buckets.entries()) {
      const [place, state] = [places[index], taken.states[index]];
      if (place && state) place.map.set(place.key, { ...state, endsAtMs: nowMs + bucketLifeMs(bucket) });
    }
    return { waitMs: 0 };
  }

  get size(): number {
    return this.#buckets.size + this.#unbounded.size;
  }

  /** As `Store.countTokens`. */
  count(buckets: readonly Bucket[]): readonly TokenCount[] {
    const nowMs = this.#clock.now();
    return buckets.map((bucket) => {
      const { map, key } = this.#placeOf(bucket, nowMs);
      return countIn(bucket, liveIn(map, key, nowMs), Math.floor(nowMs * 1_000));
    });
  }

  clear(): void {
    this.#buckets.clear();
    this.#unbounded.clear();
  }

  #placeOf({ key, overflowKey }: Bucket, nowMs: number) {
    if (overflowKey === undefined) return { map: this.#unbounded, key };
    const hasPlace = this.#buckets.has(key) || this.#hasRoom(nowMs);
    return hasPlace ? { map: this.#buckets, key } : { map: this.#unbounded, key: overflowKey };
  }

  #hasRoom(nowMs: number): boolean {
    if (this.#buckets.size < this.#limit) return true;
    this.#sweepEvery(SWEEP_AT_BOUND_MS, nowMs);
    return this.#buckets.size < this.#limit;
  }

  #sweepEvery(intervalMs: number, nowMs: number): void {
    // Also when the clock was set back.
    if (Math.abs(nowMs - this.#sweptAtMs) < intervalMs) return;
    this.#sweptAtMs = nowMs;
    for (const map of [this.#buckets, this.#unbounded])
      for (const [key, { endsAtMs }] of map) if (endsAtMs <= nowMs) map.delete(key);
  }
}

const liveIn = (map: ReadonlyMap<string, Kept>, key: string, nowMs: number): BucketState | undefined => {
  const kept = map.get(key);
  return kept && kept.endsAtMs > nowMs ? kept : undefined;
};

/** Counts by this process alone, for when a shared store cannot be asked. */
export const localBuckets = (clock: Clock): Pick<Store, 'takeTokens' | 'countTokens' | 'bucketCount'> => {
  const buckets = new MemoryBuckets(clock);
  return {
    takeTokens: (asked) => buckets.take(asked),
    countTokens: async (asked) => buckets.count(asked),
    bucketCount: () => buckets.size,
  };
};
