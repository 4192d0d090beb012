import type { Access, AdmissionSteps, Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { Bucket } from '../store/index.ts';
import type { BucketsFor } from './rate-limits.ts';

/** No limits configured. */
export const unlimited = (_access: Access, _target: Target): void => {};

export interface LimitDeps {
  /** The limits in force. */
  readonly bucketsFor: () => BucketsFor;
  /** As `Store.takeTokens`. */
  readonly takeTokens: (buckets: readonly Bucket[]) => Promise<number>;
}

/**
 * Takes a token from every bucket of an access, or from none and throws `rate_limited` with the time until there is one
 * in each.
 */
export const limitRate =
  ({ bucketsFor, takeTokens }: LimitDeps): AdmissionSteps['limit'] =>
  (access) => {
    const buckets = bucketsFor()(access);
    return buckets.length === 0 ? undefined : takeTokens(buckets).then(refuseEarly);
  };

const refuseEarly = (waitMs: number): void => {
  if (waitMs === 0) return;
  throw new VmcpError('rate_limited', 'too many requests; try again later', {
    data: { retryAfterSeconds: waitMs / 1_000 },
  });
};
