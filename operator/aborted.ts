/** Resolves when the signal is aborted, at once if it is already. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });

/**
 * Resolves or rejects as `work` does, or rejects with the signal's reason as soon as it is aborted; `work` itself goes
 * on, and its outcome is ignored then.
 */
export const abortable = async <T>(work: Promise<T> | T, signal: AbortSignal): Promise<T> => {
  const { promise: cutOff, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return Promise.race([cutOff, work]).finally(() => signal.removeEventListener('abort', onAbort));
};
