import { type Clock, sleep } from '../../runtime/process/index.ts';

/** A value that is set and cleared; readers may wait for it. */
export class WaitableValue<Thing extends object> {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #thing: Thing | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get value(): Thing | undefined {
    return this.#thing;
  }

  set(thing: Thing): void {
    this.#thing = thing;
    for (const resume of this.#waiting) resume();
  }

  clear(): void {
    this.#thing = undefined;
  }

  /** Undefined when it has not come by then, or `signal` aborts. */
  async waitAtMost(ms: number, signal?: AbortSignal): Promise<Thing | undefined> {
    if (this.#thing) return this.#thing;
    const come = new AbortController();
    const resume = (): void => come.abort();
    this.#waiting.add(resume);
    await sleep(this.#clock, ms, signal ? AbortSignal.any([signal, come.signal]) : come.signal);
    this.#waiting.delete(resume);
    return this.#thing;
  }
}
