import type { Clock } from '../../runtime/process/index.ts';

/**
 * Runs `work` for `ms` at most; rejects when the time is up or `signal` is aborted, even if the work heeds no signal.
 */
export const withTimeout = async <T>(
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    limit.abort(reason);
    reject(reason);
  };
  const onAbort = (): void => end(signal?.reason);
  const timer = clock.after(ms, () => end(new Error(`no answer within ${Math.ceil(ms / 1000)} s`)));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(limit.signal), over]);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
};

/** The API's `MicroTime`: RFC 3339 with six digits. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
