import { type Clock, sleep } from '../../runtime/process/index.ts';

/** Something that comes and goes: whoever needs it waits a while for it. */
export class Arrival<Thing extends object> {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #thing: Thing | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get here(): Thing | undefined {
    return this.#thing;
  }

  come(thing: Thing): void {
    this.#thing = thing;
    for (const resume of this.#waiting) resume();
  }

  go(): void {
    this.#thing = undefined;
  }

  /** Undefined when it has not come by then, or `signal` aborts. */
  async within(ms: number, signal?: AbortSignal): Promise<Thing | undefined> {
    if (this.#thing) return this.#thing;
    const come = new AbortController();
    const resume = (): void => come.abort();
    this.#waiting.add(resume);
    await sleep(this.#clock, ms, signal ? AbortSignal.any([signal, come.signal]) : come.signal);
    this.#waiting.delete(resume);
    return this.#thing;
  }
}
