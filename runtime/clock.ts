/** Time as a dependency: the real one in composition roots, a frozen one in tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Runs `run` once after `ms`. Timers never keep the process alive. */
  readonly after: (ms: number, run: () => void) => Timer;
}

export interface Timer {
  readonly cancel: () => void;
  /** Starts the full delay anew. Not to be called after the timer has run or was cancelled. */
  readonly restart: () => void;
}

/** Resolves after `ms`, or at once when `signal` aborts. */
export const sleep = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (ms <= 0 || signal?.aborted) return resolve();
    const done = () => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
