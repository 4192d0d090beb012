/** Time as a dependency: the real one in composition roots, a frozen one in tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Runs `run` once after `ms`. Timers never keep the process alive. */
  readonly after: (ms: number, run: () => void) => Timer;
}

/** A pending call of `Clock.after`. */
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

/** Waits for `work`, at most `ms`. False: the work had not ended by then; its outcome is ignored. */
export const atMost = async (clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> => {
  const done = new AbortController();
  const timeUp = sleep(clock, ms, done.signal).then(() => false);
  return Promise.race([work.then(() => true), timeUp]).finally(() => done.abort());
};

/** `AbortSignal.timeout` by this clock. */
export const abortAfter = (clock: Clock, ms: number): AbortSignal => {
  const controller = new AbortController();
  clock.after(ms, () => controller.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError')));
  return controller.signal;
};

/**
 * Delay before attempt `attempt` (from 1): doubles from `baseMs` up to `maxMs`; of that, up to the part `jitter` (0 to
 * 1) is subtracted at random.
 */
export const backoffMs = (
  attempt: number,
  { baseMs, maxMs, jitter = 0.5 }: { readonly baseMs: number; readonly maxMs: number; readonly jitter?: number },
  random: () => number,
): number => jittered(Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30)), random, jitter);

/** `ms` less a random part of up to `jitter`, so that many timers that began together do not fire together. */
export const jittered = (ms: number, random: () => number, jitter: number): number =>
  ms * (1 - jitter + jitter * random());
