import type { Clock } from '../process/index.ts';
import type { Bucket, Store, Taken, TokenCount } from './store.ts';
import { bucketLifeMs, type BucketState, countIn, takeFrom } from './token-buckets.ts';

/** One bucket, and its place. */
interface Kept extends BucketState {
  spent: number;
  at: number;
  capacity: number;
  periodUs: number;
  endsAtMs: number;
  readonly map: Map<string, Kept>;
  readonly key: string;
  isInMap: boolean;
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
    const live = places.map((place) => liveAt(place, nowMs));
    const taken = takeFrom(buckets, live, Math.floor(nowMs * 1_000));
    if (!taken.isTaken) return { waitMs: taken.waitMs, emptyAt: taken.emptyAt };
    buckets.forEach((bucket, index) => {
      const place = places[index];
      const state = taken.states[index];
      if (place && state) keep(place, state, nowMs + bucketLifeMs(bucket));
    });
    return TAKEN;
  }

  get size(): number {
    return this.#buckets.size + this.#unbounded.size;
  }

  /** As `Store.countTokens`. */
  count(buckets: readonly Bucket[]): readonly TokenCount[] {
    const nowMs = this.#clock.now();
    return buckets.map((bucket) =>
      countIn(bucket, liveAt(this.#placeOf(bucket, nowMs), nowMs), Math.floor(nowMs * 1_000)),
    );
  }

  clear(): void {
    this.#buckets.clear();
    this.#unbounded.clear();
  }

  /** The bucket that counts, or a place for it. */
  #placeOf({ key, overflowKey }: Bucket, nowMs: number): Kept {
    if (overflowKey === undefined) return this.#unbounded.get(key) ?? newPlace(this.#unbounded, key);
    const own = this.#buckets.get(key);
    if (own) return own;
    if (this.#hasRoom(nowMs)) return newPlace(this.#buckets, key);
    return this.#unbounded.get(overflowKey) ?? newPlace(this.#unbounded, overflowKey);
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
      for (const [key, kept] of map)
        if (kept.endsAtMs <= nowMs) {
          map.delete(key);
          kept.isInMap = false;
        }
  }
}

const TAKEN: Taken = { waitMs: 0 };

const newPlace = (map: Map<string, Kept>, key: string): Kept => ({
  spent: 0,
  at: 0,
  capacity: 0,
  periodUs: 0,
  endsAtMs: -Infinity,
  map,
  key,
  isInMap: false,
});

const liveAt = (kept: Kept, nowMs: number): Kept | undefined => (kept.endsAtMs > nowMs ? kept : undefined);

const keep = (kept: Kept, { spent, at, capacity, periodUs }: BucketState, endsAtMs: number): void => {
  kept.spent = spent;
  kept.at = at;
  kept.capacity = capacity;
  kept.periodUs = periodUs;
  kept.endsAtMs = endsAtMs;
  if (kept.isInMap) return;
  kept.map.set(kept.key, kept);
  kept.isInMap = true;
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
