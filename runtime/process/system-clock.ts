import type { Clock, Timer } from './clock.ts';

/** Longest delay of `setTimeout`, 24.8 days; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(ms: number, run: () => void) {
    this.#timeout = setTimeout(run, Math.min(ms, LONGEST_MS)).unref();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  restart(): void {
    this.#timeout.refresh();
  }
}

const after: Clock['after'] = (ms, run) => new SystemTimer(ms, run);

/** The machine's clock. Delays are cut to 24.8 days. */
export const systemClock: Clock = { now: () => Date.now(), after };

/** The same for durations: not affected when the machine's clock is set. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now(), after };
