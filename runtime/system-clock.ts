import type { Clock } from './clock.ts';

/** What `setTimeout` takes at most, 24.8 days; given more it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const after: Clock['after'] = (ms, run) => {
  const timeout = setTimeout(run, Math.min(ms, LONGEST_MS)).unref();
  return { cancel: () => clearTimeout(timeout), restart: () => void timeout.refresh() };
};

/** The machine's clock. A longer delay than 24.8 days ends then. */
export const systemClock: Clock = { now: () => Date.now(), after };

/** The same for durations alone: somebody who sets the machine's clock does not reach it. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now(), after };
