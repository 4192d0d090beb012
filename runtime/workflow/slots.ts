import type { CancelSignal } from '../process/index.ts';

/** Lets at most `limit` pieces of work run at one time; the others wait for their turn. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Throws the reason of `signal` where it is aborted before it is this work's turn. */
  async run<T>(signal: CancelSignal, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }

  #turn(signal: CancelSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(goOn), 1);
        reject(signal.reason);
      };
      this.#waiting.push(goOn);
      signal.addEventListener('abort', giveUp);
    });
  }
}
