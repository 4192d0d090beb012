import type { Access, AdmissionSteps, Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { Store, Taken } from '../store/index.ts';
import type { ExaminedLimits } from './examine.ts';
import type { LimitMetrics } from './limit-metrics.ts';
import type { BucketsFor, LimitBucket } from './rate-limits.ts';
import type { CountTokens } from './store-outage.ts';

/** No limits configured. */
export const unlimited = (_access: Access, _target: Target): void => {};

export interface LimitDeps {
  /** The limits in force. */
  readonly bucketsFor: () => BucketsFor;
  readonly takeTokens: Store['takeTokens'];
  readonly metrics: Pick<LimitMetrics, 'decided'>;
}

/**
 * Takes a token from every bucket of an access, or from none and throws `rate_limited` with the time until there is one
 * in each.
 */
export const limitRate =
  ({ bucketsFor, takeTokens, metrics }: LimitDeps): AdmissionSteps['limit'] =>
  (access) => {
    const buckets = bucketsFor()(access);
    if (buckets.length === 0) return undefined;
    const decide = (taken: Taken): void => {
      count(buckets, taken, metrics);
      refuseEarly(taken);
    };
    const taken = takeTokens(buckets);
    return taken instanceof Promise ? taken.then(decide) : decide(taken);
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

const count = (buckets: readonly LimitBucket[], taken: Taken, { decided }: LimitDeps['metrics']): void => {
  if (taken.waitMs === 0) for (const bucket of buckets) decided(bucket, true);
  const empty = buckets[taken.emptyAt ?? -1];
  if (empty) decided(empty, false);
};

const refuseEarly = ({ waitMs }: Taken): void => {
  if (waitMs === 0) return;
  throw new VmcpError('rate_limited', 'too many requests; try again later', {
    data: { retryAfterSeconds: waitMs / 1_000 },
  });
};
