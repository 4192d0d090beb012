import { rateLimitsOf } from './config-slices.ts';
import type { LiveConfig } from './config/index.ts';
import {
  bucketsFor,
  countDespiteOutage,
  examineLimits,
  type Gate,
  limitMetrics,
  limitRate,
  takeDespiteOutage,
} from './gate/index.ts';
import type { Log, Meter } from './observe/index.ts';
import type { Clock } from './process/index.ts';
import { localBuckets, prefixed, type Store } from './store/index.ts';

export interface RateLimitDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** All replicas' store; the keys have a prefix of their own. */
  readonly store: Store;
}

/** The limits of the configuration, counted in the store, and while that is away as the configuration says. */
export const rateLimit = ({
  config,
  clock,
  log,
  meter,
  store,
}: RateLimitDeps): Required<Pick<Gate, 'limit' | 'examineLimits'>> => {
  const buckets = config.live(rateLimitsOf, bucketsFor);
  const shared = prefixed(store, 'limits:');
  const local = localBuckets(clock);
  const metrics = limitMetrics(meter, () => shared.bucketCount() + local.bucketCount());
  const whenStoreUnavailable = () => config.current().extensions.rateLimiting.whenStoreUnavailable;
  return {
    limit: limitRate({
      bucketsFor: buckets,
      takeTokens: takeDespiteOutage({
        shared: shared.takeTokens,
        local: local.takeTokens,
        whenStoreUnavailable,
        onOutage: metrics.storeAway,
        log,
        now: clock.now,
      }),
      metrics,
    }),
    examineLimits: examineLimits({
      bucketsFor: buckets,
      countTokens: countDespiteOutage({
        shared: shared.countTokens,
        local: local.countTokens,
        whenStoreUnavailable,
      }),
    }),
  };
};
