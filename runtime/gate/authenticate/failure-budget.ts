import { networkOf } from '../../http/index.ts';

export interface FailureBounds {
  /** Tokens that may be refused of one address in a row. */
  readonly burst: number;
  /** Time in which the whole burst comes back. */
  readonly refillMs: number;
  /** Addresses that are remembered; the one that failed longest ago is forgotten first. */
  readonly addresses: number;
}

/**
 * Counts refused tokens of each client address. It is no lock against guessing, since tokens cannot be guessed: it
 * bounds the work that bad tokens cause; those that cause none do not count. Many clients may share an address, so it
 * is wide.
 */
export class FailureBudget {
  readonly #bounds: FailureBounds;
  /** Least recently failed first. */
  readonly #spent = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(bounds: FailureBounds) {
    this.#bounds = bounds;
  }

  /** Whether a token that is not known may still be checked for this address. */
  has(address: string | undefined, now: number): boolean {
    return this.#failures(networkOf(address), now) < this.#bounds.burst;
  }

  /** Notes a refused token. */
  spend(address: string | undefined, now: number): void {
    const network = networkOf(address);
    const failures = Math.min(this.#bounds.burst, this.#failures(network, now) + 1);
    this.#spent.delete(network);
    this.#spent.set(network, { failures, at: now });
    for (const [oldest] of this.#spent) {
      if (this.#spent.size <= this.#bounds.addresses) break;
      this.#spent.delete(oldest);
    }
  }

  #failures(network: string, now: number): number {
    const spent = this.#spent.get(network);
    if (spent === undefined) return 0;
    const { burst, refillMs } = this.#bounds;
    return Math.max(0, spent.failures - ((now - spent.at) * burst) / refillMs);
  }
}
