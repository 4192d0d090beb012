import type { Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';

/** No call lives longer, whatever it hears meanwhile (decisions: Timeouts). */
export const CEILING_MS = 30 * 60_000;

export interface PatientWork<T> {
  /** Names the backend in the error. */
  readonly backend: string;
  /** Longest silence. */
  readonly silenceMs: number;
  /** Who waits for the result; its abort reason becomes the error. */
  readonly signal: AbortSignal;
  /** `signal` aborts once nobody waits any more; `heard` restarts the clock. */
  readonly work: (signal: AbortSignal, heard: () => void) => Promise<T>;
  /** Runs when nobody waits any more and before the work's signal aborts; must not throw. */
  readonly onGivenUp: (reason: VmcpError) => Promise<void>;
}

/** Waits for work that talks to a backend until it is done, silent for too long, over the ceiling, or no longer wanted. */
export const patiently = <T>(
  clock: Clock,
  { backend, silenceMs, signal, work, onGivenUp }: PatientWork<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const exchange = new AbortController();
    const startedAt = clock.now();
    const giveUp = (reason: VmcpError): void => {
      settle();
      reject(reason);
      void onGivenUp(reason).then(() => exchange.abort(reason));
    };
    const tooLong = (): void => giveUp(new VmcpError('backend_timeout', `backend "${backend}" did not answer in time`));
    const onAbort = (): void => giveUp(abortReason(signal));
    const silence = clock.after(Math.min(silenceMs, CEILING_MS), tooLong);
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      silence.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    const heard = (): void => {
      if (isSettled) return;
      if (clock.now() - startedAt > CEILING_MS) return tooLong();
      silence.restart();
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    work(exchange.signal, heard).then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });

const abortReason = (signal: AbortSignal): VmcpError =>
  signal.reason instanceof VmcpError ? signal.reason : new VmcpError('cancelled', 'cancelled');
