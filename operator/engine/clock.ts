/** Time as the engine sees it; a test brings one that it moves by hand. */
export interface Clock {
  /** Milliseconds since the epoch. Only differences and timestamps for people are made of it. */
  readonly now: () => number;
  /** Runs once after `delayMs`; the answer cancels it. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** Resolves after `delayMs`; rejects with the signal's reason when it is aborted first. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

/** Adds `sleep` to a clock that has the other two. */
export const withSleep = (clock: Omit<Clock, 'sleep'>): Clock => ({
  ...clock,
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        cancel();
        reject(signal.reason as Error);
      };
      const cancel = clock.after(delayMs, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      signal.addEventListener('abort', onAbort, { once: true });
    }),
});

/** Delay before attempt `attempt` (from 1): doubles from `baseMs` up to `maxMs`, of which a random half is taken off. */
export const backoffMs = (
  attempt: number,
  range: { readonly baseMs: number; readonly maxMs: number },
  random: () => number,
): number => {
  const full = Math.min(range.maxMs, range.baseMs * 2 ** Math.min(attempt - 1, 30));
  return full * (0.5 + random() / 2);
};

/** The API's `MicroTime`: RFC 3339 with six digits. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
