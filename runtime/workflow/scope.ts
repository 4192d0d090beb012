import { VmcpError } from '../errors.ts';
import { type CancelSignal, Cancellation } from '../process/index.ts';

/** Does work under a cancellation of its own, which is aborted with `signal`. Throws the reason of an aborted one. */
export const within = async <T>(signal: CancelSignal, work: (own: Cancellation) => Promise<T>): Promise<T> => {
  if (signal.aborted) throw signal.reason;
  const own = new Cancellation();
  const outer = (): void => own.abort(asError(signal.reason));
  signal.addEventListener('abort', outer);
  try {
    return await work(own);
  } finally {
    signal.removeEventListener('abort', outer);
  }
};

const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new VmcpError('cancelled', 'the call is over');
