import type { CancelSignal, Clock, Timer } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { IdleTimeout, Unsent } from '../../outgoing/index.ts';
import { exchangeError } from './small-messages.ts';

/** Longest time of a call, however often its idle timeout is refreshed (docs/decisions.md "Idle timeout"). */
export const CEILING_MS = 30 * 60_000;

/** Time to wait for the response to a call that its client has cancelled: servers that send one do so at once. */
const LATE_ANSWER_MS = 2_000;

export interface TimedWork<T> {
  /** Names the backend in the error. */
  readonly backend: string;
  /** Longest silence. */
  readonly idleTimeoutMs: number;
  /** Aborts the wait; its reason becomes the error. */
  readonly signal?: CancelSignal | undefined;
  /** The work to wait for. Rejects where it fails; never throws. */
  readonly work: (idleTimeout: IdleTimeout) => Promise<T>;
  /**
   * Whether the backend may still answer after the client has cancelled a request that was sent: then the exchange goes
   * on for 2 s after `onGivenUp` has begun, and its result goes to the client. Absent: no.
   */
  readonly mayStillAnswer?: () => boolean;
  /** Runs when work is given up whose request was sent, before the exchange is aborted. Never throws. */
  readonly onGivenUp?: (reason: VmcpError) => Promise<void>;
  /** Runs once as soon as the wait is over, however it ended. Never throws. */
  readonly onOver?: () => void;
}

/**
 * Waits for work that talks to a backend until it is done, silent for too long, over the ceiling, or no longer wanted.
 * Rejects with a VmcpError that names the backend.
 */
export const withIdleTimeout = <T>(clock: Clock, work: TimedWork<T>): Promise<T> =>
  new Promise((resolve, reject) => new RunningTimeout(clock, work, { resolve, reject }).start());

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: VmcpError) => void;
}

/** One wait. Every call has one, so it costs one timer and one listener, and no signal of its own. */
class RunningTimeout<T> implements IdleTimeout {
  readonly #clock: Clock;
  readonly #timedWork: TimedWork<T>;
  readonly #waiting: Waiting<T>;
  readonly #startedAt: number;
  #timer: Timer;
  /** Set when the ceiling is closer than the idle timeout: refreshing no longer moves the end. */
  #isLast = false;
  /** Set when the client has cancelled: only a last response of the backend is waited for. */
  #cancelled: VmcpError | undefined;
  #isSettled = false;
  #pauses = 0;
  /** Set when the wait is given up: the exchange must be aborted. */
  #abandoned: VmcpError | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #isSent = false;

  constructor(clock: Clock, asked: TimedWork<T>, waiting: Waiting<T>) {
    this.#clock = clock;
    this.#timedWork = asked;
    this.#waiting = waiting;
    this.#startedAt = clock.now();
    this.#timer = clock.after(Math.min(asked.idleTimeoutMs, CEILING_MS), this.#onTimeout);
  }

  start(): void {
    const { backend, signal, work } = this.#timedWork;
    if (signal?.aborted) return this.#giveUp(this.#abortReason());
    signal?.addEventListener('abort', this.#onAborted);
    work(this).then(
      (value) => {
        this.#settle();
        this.#waiting.resolve(value);
      },
      (error: unknown) => {
        this.#settle();
        this.#waiting.reject(this.#cancelled ?? exchangeError(backend, error));
      },
    );
  }

  refresh(): void {
    if (this.#isSettled || this.#isLast || this.#cancelled || this.#pauses > 0) return;
    const leftMs = this.#leftMs();
    if (leftMs >= this.#timedWork.idleTimeoutMs) return this.#timer.restart();
    this.#isLast = true;
    this.#waitFor(leftMs);
  }

  pause(): () => void {
    this.#pauses += 1;
    if (this.#pauses === 1 && !this.#isSettled) this.#waitFor(this.#leftMs());
    return () => {
      this.#pauses -= 1;
      if (this.#pauses === 0 && !this.#isSettled)
        this.#waitFor(Math.min(this.#timedWork.idleTimeoutMs, this.#leftMs()));
    };
  }

  #leftMs(): number {
    return Math.max(0, this.#startedAt + CEILING_MS - this.#clock.now());
  }

  #waitFor(ms: number): void {
    if (this.#cancelled) return;
    this.#timer.cancel();
    this.#timer = this.#clock.after(ms, this.#onTimeout);
  }

  onAbandoned(abort: (reason: Error) => void, state?: Unsent): void {
    this.#isSent = state !== 'unsent';
    if (this.#abandoned) abort(this.#abandoned);
    else this.#abort = abort;
  }

  readonly #onTimeout = (): void => {
    this.#giveUp(new VmcpError('backend_timeout', `backend "${this.#timedWork.backend}" did not answer in time`));
  };

  readonly #onAborted = (): void => {
    const reason = this.#abortReason();
    const { mayStillAnswer, onGivenUp } = this.#timedWork;
    if (reason.code !== 'cancelled_by_client' || !this.#isSent || !mayStillAnswer?.()) return this.#giveUp(reason);
    this.#cancelled = reason;
    this.#timer.cancel();
    const told = onGivenUp?.(reason);
    this.#timer = this.#clock.after(LATE_ANSWER_MS, () => this.#abortExchange(reason, told));
  };

  #abortReason(): VmcpError {
    const reason: unknown = this.#timedWork.signal?.reason;
    return reason instanceof VmcpError ? reason : new VmcpError('cancelled', 'cancelled');
  }

  #giveUp(reason: VmcpError): void {
    this.#settle();
    this.#abortExchange(reason, this.#isSent ? this.#timedWork.onGivenUp?.(reason) : undefined);
  }

  #abortExchange(reason: VmcpError, told: Promise<void> = Promise.resolve()): void {
    this.#settle();
    this.#waiting.reject(reason);
    void told.then(() => {
      this.#abandoned = reason;
      this.#abort?.(reason);
    });
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer.cancel();
    this.#timedWork.signal?.removeEventListener('abort', this.#onAborted);
    this.#timedWork.onOver?.();
  }
}

/** The same timeout as a deadline: neither refreshing nor pausing extends it. */
export const deadline = (idleTimeout: IdleTimeout): IdleTimeout => ({
  refresh: () => {},
  pause: () => () => {},
  onAbandoned: (abort, state) => idleTimeout.onAbandoned(abort, state),
});
