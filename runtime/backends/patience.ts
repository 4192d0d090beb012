import type { CancelSignal } from '../cancellation.ts';
import type { Clock, Timer } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { Attention } from '../outgoing/index.ts';
import { refusalOf } from './small-messages.ts';

/** No call lives longer, whatever it hears meanwhile (decisions: Timeouts). */
export const CEILING_MS = 30 * 60_000;

/** How long the answer to a call that its client has cancelled is waited for: servers that send one do so at once. */
const LAST_WORD_MS = 2_000;

export interface PatientWork<T> {
  /** Names the backend in the error. */
  readonly backend: string;
  /** Longest silence. */
  readonly silenceMs: number;
  /** Who wants the result; its abort reason becomes the error. */
  readonly signal?: CancelSignal | undefined;
  /** Rejects where it fails; never throws. */
  readonly work: (attention: Attention) => Promise<T>;
  /**
   * Whether an answer may come although the client has cancelled: then the exchange goes on for 2 s after `onGivenUp` has begun, and what
   * it comes to is the client's. Absent: no.
   */
  readonly mayStillAnswer?: () => boolean;
  /** Runs when the work is given up, and before the exchange is broken off. Never throws. */
  readonly onGivenUp?: (reason: VmcpError) => Promise<void>;
  /** Runs once as soon as nobody waits any more, however the wait went. Never throws. */
  readonly onOver?: () => void;
}

/**
 * Waits for work that talks to a backend until it is done, silent for too long, over the ceiling, or no longer wanted. Rejects with a
 * VmcpError that names the backend.
 */
export const patiently = <T>(clock: Clock, work: PatientWork<T>): Promise<T> =>
  new Promise((resolve, reject) => new Patience(clock, work, { resolve, reject }).start());

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: VmcpError) => void;
}

/** One wait. On the way of every call: one timer, one listener, no signal of its own. */
class Patience<T> implements Attention {
  readonly #clock: Clock;
  readonly #asked: PatientWork<T>;
  readonly #waiting: Waiting<T>;
  readonly #startedAt: number;
  #timer: Timer;
  /** So little is left until the ceiling that nothing heard moves the end any more. */
  #isLast = false;
  /** Once set, only the last word of the other side is waited for. */
  #cancelled: VmcpError | undefined;
  #isSettled = false;
  #pauses = 0;
  /** Once set, nobody waits and nothing may go on. */
  #abandoned: VmcpError | undefined;
  #abort: ((reason: Error) => void) | undefined;

  constructor(clock: Clock, asked: PatientWork<T>, waiting: Waiting<T>) {
    this.#clock = clock;
    this.#asked = asked;
    this.#waiting = waiting;
    this.#startedAt = clock.now();
    this.#timer = clock.after(Math.min(asked.silenceMs, CEILING_MS), this.#tooLong);
  }

  start(): void {
    const { backend, signal, work } = this.#asked;
    if (signal?.aborted) return this.#giveUp(this.#whyUnwanted());
    signal?.addEventListener('abort', this.#unwanted);
    work(this).then(
      (value) => {
        this.#settle();
        this.#waiting.resolve(value);
      },
      (error: unknown) => {
        this.#settle();
        this.#waiting.reject(this.#cancelled ?? refusalOf(backend, error));
      },
    );
  }

  heard(): void {
    if (this.#isSettled || this.#isLast || this.#cancelled || this.#pauses > 0) return;
    const leftMs = this.#leftMs();
    if (leftMs >= this.#asked.silenceMs) return this.#timer.restart();
    this.#isLast = true;
    this.#waitFor(leftMs);
  }

  pause(): () => void {
    this.#pauses += 1;
    if (this.#pauses === 1 && !this.#isSettled) this.#waitFor(this.#leftMs());
    return () => {
      this.#pauses -= 1;
      if (this.#pauses === 0 && !this.#isSettled) this.#waitFor(Math.min(this.#asked.silenceMs, this.#leftMs()));
    };
  }

  #leftMs(): number {
    return Math.max(0, this.#startedAt + CEILING_MS - this.#clock.now());
  }

  #waitFor(ms: number): void {
    if (this.#cancelled) return;
    this.#timer.cancel();
    this.#timer = this.#clock.after(ms, this.#tooLong);
  }

  onAbandoned(abort: (reason: Error) => void): void {
    if (this.#abandoned) abort(this.#abandoned);
    else this.#abort = abort;
  }

  readonly #tooLong = (): void => {
    this.#giveUp(new VmcpError('backend_timeout', `backend "${this.#asked.backend}" did not answer in time`));
  };

  readonly #unwanted = (): void => {
    const reason = this.#whyUnwanted();
    const { mayStillAnswer, onGivenUp } = this.#asked;
    if (reason.code !== 'cancelled_by_client' || !mayStillAnswer?.()) return this.#giveUp(reason);
    this.#cancelled = reason;
    this.#timer.cancel();
    const told = onGivenUp?.(reason);
    this.#timer = this.#clock.after(LAST_WORD_MS, () => this.#breakOff(reason, told));
  };

  #whyUnwanted(): VmcpError {
    const reason: unknown = this.#asked.signal?.reason;
    return reason instanceof VmcpError ? reason : new VmcpError('cancelled', 'cancelled');
  }

  #giveUp(reason: VmcpError): void {
    this.#settle();
    this.#breakOff(reason, this.#asked.onGivenUp?.(reason));
  }

  #breakOff(reason: VmcpError, told: Promise<void> = Promise.resolve()): void {
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
    this.#asked.signal?.removeEventListener('abort', this.#unwanted);
    this.#asked.onOver?.();
  }
}

/** The same wait, which nothing that is heard makes longer. */
export const deadline = (attention: Attention): Attention => ({
  heard: () => {},
  pause: () => () => {},
  onAbandoned: (abort) => attention.onAbandoned(abort),
});
