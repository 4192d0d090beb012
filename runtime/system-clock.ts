import type { Clock } from './clock.ts';

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timeout = setTimeout(run, ms).unref();
    return { cancel: () => clearTimeout(timeout), restart: () => void timeout.refresh() };
  },
};
