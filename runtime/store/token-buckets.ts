import type { Bucket, Taken, TokenCount } from './store.ts';

/** A bucket that is not used for this time is full again (docs/rate-limits.md "Buckets"). */
export const bucketLifeMs = ({ refillPeriodMs }: Bucket): number => 2 * refillPeriodMs;

/**
 * The state of a bucket: it was full at `at` and has given `spent` tokens since. Whole numbers, so that nothing is lost
 * by rounding however often it is used. Times are in microseconds since the epoch. Capacity and period are those that
 * the state was written with. `TAKE_TOKENS` computes the same in Redis.
 */
export interface BucketState {
  readonly spent: number;
  readonly at: number;
  readonly capacity: number;
  readonly periodUs: number;
}

export type TakeResult =
  | { readonly isTaken: true; readonly states: readonly BucketState[] }
  | ({ readonly isTaken: false } & Required<Taken>);

/**
 * Takes one token from each bucket, or tells how long to wait, as `Store.takeTokens`. `kept`: the states, in the order
 * of the buckets; an unknown bucket is full.
 */
export const takeFrom = (
  buckets: readonly Bucket[],
  kept: readonly (BucketState | undefined)[],
  nowUs: number,
): TakeResult => {
  const states = buckets.map((bucket, index) => stateAt(bucket, kept[index], nowUs));
  let [waitUs, emptyAt] = [0, 0];
  for (const [index, state] of states.entries()) {
    const stateWaitUs = untilNextUs(state, nowUs);
    if (stateWaitUs > waitUs) [waitUs, emptyAt] = [stateWaitUs, index];
  }
  if (waitUs > 0) return { isTaken: false, waitMs: Math.ceil(waitUs / 1_000), emptyAt };
  for (const state of states) state.spent += 1;
  return { isTaken: true, states };
};

/** What a bucket holds; `kept` as in `takeFrom`. */
export const countIn = (bucket: Bucket, kept: BucketState | undefined, nowUs: number): TokenCount => {
  const state = stateAt(bucket, kept, nowUs);
  const waitUs = untilNextUs(state, nowUs);
  if (waitUs > 0) return { available: 0, waitMs: Math.ceil(waitUs / 1_000) };
  const { spent, at, capacity, periodUs } = state;
  const returned = Math.floor(((nowUs - at) * capacity) / periodUs);
  return { available: Math.max(1, Math.min(capacity, capacity - spent + returned)), waitMs: 0 };
};

/** The state as `TAKE_TOKENS` writes it; undefined for any other text. */
export const parseBucketState = (text: string): BucketState | undefined => {
  const numbers = /^(\d+) (\d+) (\d+) (\d+)$/.exec(text)?.slice(1).map(Number);
  if (!numbers) return undefined;
  const [spent = 0, at = 0, capacity = 1, periodUs = 1] = numbers;
  return { spent, at, capacity, periodUs };
};

export const periodUsOf = ({ refillPeriodMs }: Bucket): number => Math.max(1, Math.round(refillPeriodMs * 1_000));

/**
 * The state as of now: whole periods are settled, so that `spent` stays below twice the capacity. A clock that was set
 * back costs a bucket what it would have regained, and no more.
 */
const stateAt = (bucket: Bucket, kept: BucketState | undefined, nowUs: number): NewState => {
  const { capacity } = bucket;
  const periodUs = periodUsOf(bucket);
  if (!kept) return { spent: 0, at: nowUs, capacity, periodUs };
  const isAsWritten = kept.capacity === capacity && kept.periodUs === periodUs && kept.at <= nowUs;
  const { spent, at } = isAsWritten ? kept : resized({ ...kept, at: Math.min(kept.at, nowUs) }, bucket, nowUs);
  const periods = Math.floor((nowUs - at) / periodUs);
  const state = { spent: spent - periods * capacity, at: at + periods * periodUs, capacity, periodUs };
  const isFull = state.spent <= 0 || returnedAfterUs(state.spent, state) <= nowUs - state.at;
  return isFull ? { spent: 0, at: nowUs, capacity, periodUs } : state;
};

/** A value of its own, whatever it was made of. */
interface NewState extends BucketState {
  spent: number;
}

/** A changed limit counts the tokens that are still spent, all of its own at most. */
const resized = (kept: BucketState, bucket: Bucket, nowUs: number): Pick<BucketState, 'spent' | 'at'> => {
  const { capacity } = bucket;
  const periodUs = periodUsOf(bucket);
  if (kept.capacity === capacity && kept.periodUs === periodUs) return kept;
  const exact = kept.spent - ((nowUs - kept.at) * kept.capacity) / kept.periodUs;
  const spent = Math.max(0, Math.min(capacity, exact));
  const whole = Math.ceil(spent);
  return { spent: whole, at: nowUs - Math.floor(((whole - spent) * periodUs) / capacity) };
};

const untilNextUs = (state: BucketState, nowUs: number): number => {
  const missing = state.spent + 1 - state.capacity;
  return missing <= 0 ? 0 : returnedAfterUs(missing, state) - (nowUs - state.at);
};

const HALF = 65_536;

/**
 * Time in which `tokens` return: tokens × period / capacity, rounded up. Computed in parts of at most 48 bits, since
 * the product may have more bits than a number holds exactly.
 */
const returnedAfterUs = (tokens: number, { capacity, periodUs }: BucketState): number => {
  const rest = periodUs % capacity;
  const high = Math.floor(tokens / HALF) * rest;
  const left = high % capacity;
  const low = left * HALF + (tokens % HALF) * rest;
  return tokens * ((periodUs - rest) / capacity) + ((high - left) / capacity) * HALF + Math.ceil(low / capacity);
};
