import { rateLimitsOf } from './config-slices.ts';
import type { LiveConfig } from './config/index.ts';
import { bucketsFor, type Gate, limitRate, takeDespiteOutage } from './gate/index.ts';
import type { Log } from './observe/index.ts';
import type { Clock } from './process/index.ts';
import { localBuckets, prefixed, type Store } from './store/index.ts';

export interface RateLimitDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** All replicas' store; the keys have a prefix of their own. */
  readonly store: Store;
}

/** The limits of the configuration, counted in the store, and while that is away as the configuration says. */
export const rateLimit = ({ config, clock, log, store }: RateLimitDeps): Gate['limit'] =>
  limitRate({
    bucketsFor: config.live(rateLimitsOf, bucketsFor),
    takeTokens: takeDespiteOutage({
      shared: prefixed(store, 'limits:').takeTokens,
      local: localBuckets(clock).takeTokens,
      whenStoreUnavailable: () => config.current().extensions.rateLimiting.whenStoreUnavailable,
      log,
      now: clock.now,
    }),
  });
