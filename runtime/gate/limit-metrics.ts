import type { Meter } from '../observe/index.ts';
import type { LimitBucket } from './rate-limits.ts';
import type { WhenStoreUnavailable } from './store-outage.ts';

export interface LimitMetrics {
  /** A token was taken from this bucket; or there was none, for which the access is refused. */
  readonly decided: (bucket: Pick<LimitBucket, 'scope' | 'isPerUser'>, isAdmitted: boolean) => void;
  /** An access was decided without the shared store. */
  readonly storeAway: (policy: WhenStoreUnavailable) => void;
}

/** Counts what limits decide. `bucketCount`: buckets in the memory of this process. */
export const limitMetrics = (meter: Meter, bucketCount: () => number): LimitMetrics => {
  const decisions = meter.counter({
    name: 'vmcp.rate_limit.decisions',
    help: 'Tokens that were taken, by limit; and refusals, by the limit that makes the client wait longest.',
    labels: ['vmcp.rate_limit.decision', 'vmcp.rate_limit.scope', 'vmcp.rate_limit.bucket'],
  });
  const outages = meter.counter({
    name: 'vmcp.rate_limit.outage.decisions',
    help: 'Requests that were decided without the store, by what the configuration says of that.',
    labels: ['vmcp.rate_limit.when_store_unavailable'],
  });
  meter.gauge({ name: 'vmcp.rate_limit.buckets', help: 'Buckets in the memory of this process.' }, bucketCount);
  return {
    decided: ({ scope, isPerUser }, isAdmitted) =>
      decisions({
        'vmcp.rate_limit.decision': isAdmitted ? 'admitted' : 'refused',
        'vmcp.rate_limit.scope': scope,
        'vmcp.rate_limit.bucket': isPerUser ? 'per_user' : 'shared',
      }),
    storeAway: (policy) => outages({ 'vmcp.rate_limit.when_store_unavailable': policy }),
  };
};
