import { sleep, type Clock } from '../../runtime/process/index.ts';

/** The rate of requests to the API server that one process keeps to. */
export interface RateLimitOptions {
  /** Sustained requests per second. */
  readonly requestsPerSecond: number;
  /** Requests that may be sent at once after a pause. */
  readonly burst: number;
}

/** Resolves when a request may be sent, in the order asked. Rejects only when `signal` is aborted. */
export type RateLimit = (signal: AbortSignal) => Promise<void>;

/** A token bucket, so that a storm of changes cannot become a storm on the API server. */
export const rateLimit = (options: RateLimitOptions, clock: Clock): RateLimit => {
  let tokens = options.burst;
  let countedAt = clock.now();
  const take = (): number => {
    const now = clock.now();
    tokens = Math.min(options.burst, tokens + ((now - countedAt) / 1000) * options.requestsPerSecond);
    countedAt = now;
    tokens -= 1;
    return tokens >= 0 ? 0 : (-tokens / options.requestsPerSecond) * 1000;
  };
  return async (signal) => {
    signal.throwIfAborted();
    const waitMs = take();
    if (waitMs > 0) {
      await sleep(clock, waitMs, signal);
      if (!signal.aborted) return;
      // A request that is aborted while it waits gives its token back.
      tokens += 1;
      throw signal.reason;
    }
  };
};
