/** Where tools are in the index, by content hash, and how often that has changed. */
export interface Slots {
  readonly slotOf: (contentHash: string) => number | undefined;
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
  #mask = new Uint8Array(0);
  #size = 0;

  constructor(hashes: readonly string[], slots: Slots) {
    this.#hashes = hashes;
    this.#slots = slots;
  }

  /** 1 for the slots of tools that may be found. */
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
    this.#mask = new Uint8Array(this.#slots.capacity());
    this.#size = 0;
    for (const hash of this.#hashes) {
      const slot = this.#slots.slotOf(hash);
      if (slot === undefined || this.#mask[slot] === 1) continue;
      this.#mask[slot] = 1;
      this.#size += 1;
    }
  }
}
