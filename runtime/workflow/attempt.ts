import { VmcpError } from '../errors.ts';
import { type CancelSignal, type Clock, untilAborted } from '../process/index.ts';
import { formatDuration } from '../config/index.ts';
import { asStepFailure, StepFailure } from './failure.ts';
import { within } from './scope.ts';

/** How long a piece of work may take, and how often it is tried. */
export interface Attempts {
  /** Of all attempts together, with the waits between them; absent: no time of its own. */
  readonly timeoutMs: number | undefined;
  /** Repetitions after a failure. */
  readonly retryCount: number;
  readonly retryDelayMs: number;
}

export interface AttemptDeps {
  readonly clock: Clock;
  readonly signal: CancelSignal;
}

/**
 * Tries `work` until it succeeds. Throws StepFailure, or the reason of `signal`. Without a time and repetitions the
 * work itself ends with `signal`: each item of a forEach is such work.
 */
export const attempted = <T>(attempts: Attempts, deps: AttemptDeps, work: Work<T>): Promise<T> =>
  attempts.timeoutMs === undefined && attempts.retryCount === 0 ? once(deps, work) : repeated(attempts, deps, work);

type Work<T> = (signal: CancelSignal) => Promise<T>;

const once = async <T>({ signal }: AttemptDeps, work: Work<T>): Promise<T> => {
  if (signal.aborted) throw signal.reason;
  try {
    return await work(signal);
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw asStepFailure(thrown);
  }
};

const repeated = <T>(
  { timeoutMs, retryCount, retryDelayMs }: Attempts,
  { clock, signal }: AttemptDeps,
  work: Work<T>,
): Promise<T> =>
  within(signal, async (own) => {
    const timer =
      timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => own.abort(new StepTimeout(timeoutMs)));
    const failureOf = (thrown: unknown): StepFailure => {
      if (signal.aborted) throw signal.reason;
      return own.reason instanceof StepTimeout ? own.reason.failure() : asStepFailure(thrown);
    };
    try {
      for (let left = retryCount; ; left -= 1) {
        try {
          return await untilAborted(own, work(own));
        } catch (thrown) {
          const failure = failureOf(thrown);
          if (failure.isFinal || left === 0) throw failure;
          await pause(clock, retryDelayMs, own);
          if (own.aborted) throw failureOf(failure);
        }
      }
    } finally {
      timer?.cancel();
    }
  });

/** The reason that calls of a step are cancelled with when its time is over. */
class StepTimeout extends VmcpError {
  readonly #ms: number;

  constructor(ms: number) {
    super('cancelled', 'the time of the step is over');
    this.#ms = ms;
  }

  failure(): StepFailure {
    return timedOut(this.#ms);
  }
}

export const timedOut = (ms: number): StepFailure =>
  new StepFailure(`it took longer than ${formatDuration(ms)}`, { isFinal: true });

const pause = (clock: Clock, ms: number, signal: CancelSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(ms, done);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
