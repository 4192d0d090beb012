import { networkOf, partOfOneAddress } from './client-shares.ts';

/** Places for streams. Clients at one address may take a part of them. */
export class StreamSlots {
  readonly #limit: number;
  readonly #limitOfOne: number;
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#limitOfOne = partOfOneAddress(limit);
  }

  /** What gives the place back, however often it is called; undefined when there is none left. */
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
