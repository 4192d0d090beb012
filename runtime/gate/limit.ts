import type { Access, AdmissionSteps, Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { Bucket } from '../store/index.ts';
import type { ExaminedLimits } from './examine.ts';
import type { BucketsFor } from './rate-limits.ts';
import type { CountTokens } from './store-outage.ts';

/** No limits configured. */
export const unlimited = (_access: Access, _target: Target): void => {};

export interface LimitDeps {
  /** The limits in force. */
  readonly bucketsFor: () => BucketsFor;
  /** As `Store.takeTokens`. */
  readonly takeTokens: (buckets: readonly Bucket[]) => number | Promise<number>;
}

/**
 * Takes a token from every bucket of an access, or from none and throws `rate_limited` with the time until there is one
 * in each.
 */
export const limitRate =
  ({ bucketsFor, takeTokens }: LimitDeps): AdmissionSteps['limit'] =>
  (access) => {
    const buckets = bucketsFor()(access);
    if (buckets.length === 0) return undefined;
    const waitMs = takeTokens(buckets);
    return waitMs instanceof Promise ? waitMs.then(refuseEarly) : refuseEarly(waitMs);
  };

export interface ExamineLimitsDeps {
  readonly bucketsFor: () => BucketsFor;
  readonly countTokens: CountTokens;
}

/** What the buckets of an access hold; nothing is taken. */
export const examineLimits =
  ({ bucketsFor, countTokens }: ExamineLimitsDeps) =>
  async (access: Access): Promise<ExaminedLimits> => {
    const buckets = bucketsFor()(access);
    if (buckets.length === 0) return { buckets: [] };
    const { counts, outage } = await countTokens(buckets);
    return {
      outage,
      buckets: counts.flatMap((count, index) => {
        const bucket = buckets[index];
        if (!bucket) return [];
        const { scope, isPerUser, capacity, refillPeriodMs } = bucket;
        return [{ ...count, scope, isPerUser, capacity, refillPeriodMs }];
      }),
    };
  };

const refuseEarly = (waitMs: number): void => {
  if (waitMs === 0) return;
  throw new VmcpError('rate_limited', 'too many requests; try again later', {
    data: { retryAfterSeconds: waitMs / 1_000 },
  });
};
