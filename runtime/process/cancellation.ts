/** The part of an AbortSignal that waiting code needs. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** Undefined until aborted. */
  readonly reason: unknown;
  addEventListener(type: 'abort', run: () => void): void;
  removeEventListener(type: 'abort', run: () => void): void;
}

/**
 * One call, cancelled at most once. In place of an AbortController, whose EventTarget is among the most expensive parts
 * of a call.
 */
export class Cancellation implements CancelSignal {
  #listeners: (() => void)[] = [];
  #reason: Error | undefined;

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): Error | undefined {
    return this.#reason;
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const run of listeners) run();
  }

  addEventListener(_type: 'abort', run: () => void): void {
    this.#listeners.push(run);
  }

  removeEventListener(_type: 'abort', run: () => void): void {
    const at = this.#listeners.lastIndexOf(run);
    if (at !== -1) this.#listeners.splice(at, 1);
  }
}

/** The outcome of `work`, or the reason of the signal as soon as that is aborted, however long the work goes on. */
export const untilAborted = <T>(signal: CancelSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    const over = (): void => signal.removeEventListener('abort', giveUp);
    // Attached first: an unhandled rejection would end the process.
    work.then(resolve, reject).then(over, over);
    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp);
  });
