/** Bytes that many holders share, so that all of them together stay within a bound. */
export class ByteBudget {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether there was room; if so, the same number must be given back. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#limit) return false;
    this.#taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
  }

  get taken(): number {
    return this.#taken;
  }
}

/** What one holder has taken: it grows, or changes to another size, and is given back as a whole. */
export class Share {
  readonly #budget: ByteBudget;
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Whether there was room; if not, nothing has changed. */
  resize(bytes: number): boolean {
    if (bytes > this.#bytes && !this.#budget.take(bytes - this.#bytes)) return false;
    if (bytes < this.#bytes) this.#budget.give(this.#bytes - bytes);
    this.#bytes = bytes;
    return true;
  }

  grow(bytes: number): boolean {
    return this.resize(this.#bytes + bytes);
  }

  release(): void {
    this.resize(0);
  }
}
