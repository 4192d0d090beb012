import type { Clock, Timer } from './clock.ts';

export interface DebounceTimes {
  /** How long nothing must happen. */
  readonly quietMs: number;
  /** How long after the first event `run` is called at the latest, however much goes on happening. */
  readonly atLatestMs: number;
}

/** Many events, one run. */
export interface Debounce {
  readonly note: () => void;
  /** Forgets what was noted. */
  readonly cancel: () => void;
}

/** Calls `run` once after a burst of events. */
export const debounce = ({ quietMs, atLatestMs }: DebounceTimes, clock: Clock, run: () => void): Debounce => {
  let timer: Timer | undefined;
  let firstAt = 0;
  const cancel = (): void => {
    timer?.cancel();
    timer = undefined;
  };
  return {
    note: () => {
      if (timer === undefined) firstAt = clock.now();
      timer?.cancel();
      timer = clock.after(Math.max(0, Math.min(quietMs, firstAt + atLatestMs - clock.now())), () => {
        timer = undefined;
        run();
      });
    },
    cancel,
  };
};
