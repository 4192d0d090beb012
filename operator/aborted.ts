/** Resolves when the signal is aborted, at once if it is already. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });

/**
 * Waits for the work until the signal is aborted; then it throws the signal's reason, and what becomes of the work is
 * not waited for.
 */
export const orAborted = async <T>(work: Promise<T> | T, signal: AbortSignal): Promise<T> => {
  const { promise: cutOff, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return Promise.race([cutOff, work]).finally(() => signal.removeEventListener('abort', onAbort));
};
