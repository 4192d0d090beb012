import type { Clock, Timer } from './clock.ts';

/** Times in ms. */
export interface DebounceTimes {
  /** Time without events before `run` is called. */
  readonly quietMs: number;
  /** Longest time from the first event to the call of `run`, however many events follow. */
  readonly atLatestMs: number;
}

/** Collects a burst of events. */
export interface Debounce {
  readonly note: () => void;
  /** Drops a pending run. */
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
