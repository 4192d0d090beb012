import { networkOf } from '../http/index.ts';
import { limitPerAddress } from './client-shares.ts';

/** Limits the number of open streams. Clients at one address may take half of the places. */
export class StreamSlots {
  readonly #limit: number;
  readonly #limitOfOne: number;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#limitOfOne = limitPerAddress(limit);
  }

  /**
   * Takes a place. Returns the function that releases it, which may be called repeatedly; undefined when no place is
   * left.
   */
  take(address: string | undefined): (() => void) | undefined {
    const network = networkOf(address);
    if (this.#taken >= this.#limit || this.#of(network) >= this.#limitOfOne) return undefined;
    this.#change(network, 1);
    let isGiven = false;
    return () => {
      if (isGiven) return;
      isGiven = true;
      this.#change(network, -1);
    };
  }

  /** The taken part of all places, 0 to 1. */
  get utilization(): number {
    return this.#taken / this.#limit;
  }

  #of(network: string): number {
    return this.#takenBy.get(network) ?? 0;
  }

  #change(network: string, by: 1 | -1): void {
    const count = this.#of(network) + by;
    this.#taken += by;
    if (count === 0) this.#takenBy.delete(network);
    else this.#takenBy.set(network, count);
  }
}
