/** A tool's place in the index: another value after it was removed and added again. */
export interface Place {
  readonly slot: number;
}

/** Where tools are in the index, by content hash, and how often that has changed. */
export interface Slots {
  readonly placeOf: (contentHash: string) => Place | undefined;
  readonly capacity: () => number;
  /** Counts additions and removals: slots are given again. */
  readonly changes: () => number;
}

/**
 * The tools that one caller may find, or all callers of equal rights. A search reads nothing but them: what else is in
 * the index has no part in scores, order and suggestions.
 */
export class Selection {
  readonly #hashes: readonly string[];
  readonly #slots: Slots;
  #changes = -1;
  #places: readonly (Place | undefined)[] | undefined;
  #mask = new Uint8Array(0);
  #size = 0;

  constructor(hashes: readonly string[], slots: Slots) {
    this.#hashes = hashes;
    this.#slots = slots;
  }

  /** 1 for the slots of tools that may be found. The same value as long as none of these has come or gone. */
  get mask(): Uint8Array {
    this.#refresh();
    return this.#mask;
  }

  /** Number of tools that may be found. */
  get size(): number {
    this.#refresh();
    return this.#size;
  }

  #refresh(): void {
    if (this.#changes === this.#slots.changes()) return;
    this.#changes = this.#slots.changes();
    const places = this.#hashes.map((hash) => this.#slots.placeOf(hash));
    if (this.#places?.every((place, at) => place === places[at])) return;
    this.#places = places;
    this.#mask = new Uint8Array(this.#slots.capacity());
    this.#size = 0;
    for (const place of places) {
      if (place === undefined || this.#mask[place.slot] === 1) continue;
      this.#mask[place.slot] = 1;
      this.#size += 1;
    }
  }
}
