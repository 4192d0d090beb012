import type { Clock, Timer } from './clock.ts';

/** What `setTimeout` takes at most, 24.8 days; given more it would fire at once. */
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

/** The machine's clock. A longer delay than 24.8 days ends then. */
export const systemClock: Clock = { now: () => Date.now(), after };

/** The same for durations alone: somebody who sets the machine's clock does not reach it. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now(), after };
