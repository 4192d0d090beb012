/**
 * What has failed at a call: the backend, or the credential that was to be had for its caller, of which the backend
 * never heard.
 */
export type FailedPart = 'backend' | 'credential';

/** What one caller has met since the row began. */
interface Failures {
  backend: number;
  credential: number;
}

/** Callers that are told apart; those beyond count as ones that cannot be. */
const MOST_CALLERS = 1_000;

/**
 * The failures of one backend in a row. One caller may have a call of a kind that always fails, or a credential that
 * its issuer chokes on: alone it is no proof against the backend (docs/failures.md "One user alone").
 */
export class FailuresInRow {
  readonly #byCaller = new Map<string, Failures>();
  /** Of callers that cannot be told apart. */
  #others = 0;
  #checks = 0;

  /** `caller` is undefined where it is not known who calls. */
  addCall(caller: string | undefined, part: FailedPart): void {
    const known = caller === undefined ? undefined : this.#byCaller.get(caller);
    if (known !== undefined) known[part] += 1;
    else if (caller === undefined || this.#byCaller.size >= MOST_CALLERS) this.#others += 1;
    else this.#byCaller.set(caller, { backend: 0, credential: 0, [part]: 1 });
  }

  addCheck(): void {
    this.#checks += 1;
  }

  /** A check has succeeded. */
  clearChecks(): void {
    this.#checks = 0;
  }

  clear(): void {
    // Every call that succeeds comes here: to clear a map that is empty makes a new one.
    if (this.#byCaller.size > 0) this.#byCaller.clear();
    this.#others = 0;
    this.#checks = 0;
  }

  /**
   * Whether the row is full. `doubted`: it would be, if all failures of one caller counted, which they do not before a
   * check has failed, too.
   */
  fills(threshold: number): 'yes' | 'doubted' | 'no' {
    const all = this.#count(Infinity);
    if (all < threshold) return 'no';
    if (this.#checks > 0) return 'yes';
    return this.#count(Math.ceil(threshold / 2)) >= threshold ? 'yes' : 'doubted';
  }

  /** Checks do not ask who issues credentials, so of one caller those failures count once in any case. */
  #count(mostOfCaller: number): number {
    let count = this.#others + this.#checks;
    for (const { backend, credential } of this.#byCaller.values())
      count += Math.min(mostOfCaller, backend + Math.min(1, credential));
    return count;
  }
}
