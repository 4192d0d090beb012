/** Bytes that many holders share, so that all of them together stay within a bound. */
export class ByteBudget {
  readonly #limit: number;
  readonly #whole: ByteBudget | undefined;
  /** Who gives way when there is no room; who began first comes first. */
  readonly #yielding = new Set<Share>();
  #taken = 0;

  constructor(limit: number, whole?: ByteBudget) {
    this.#limit = limit;
    this.#whole = whole;
  }

  /** A budget for some of the holders, whose bytes count here, too. */
  part(of: (limit: number) => number): ByteBudget {
    return new ByteBudget(of(this.#limit), this);
  }

  /** Whether there was room, or others (never `by`) made it; if so, the same number must be given back. */
  take(bytes: number, by?: Share): boolean {
    if (bytes > this.#limit) return false;
    while (this.#taken + bytes > this.#limit) if (!this.#makeRoom(by)) return false;
    if (this.#whole && !this.#whole.take(bytes, by)) return false;
    this.#taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
    this.#whole?.give(bytes);
  }

  get taken(): number {
    return this.#taken;
  }

  /** `share` gives way from now on, where that is asked of it. */
  yields(share: Share): void {
    this.#yielding.add(share);
    this.#whole?.yields(share);
  }

  keeps(share: Share): void {
    this.#yielding.delete(share);
    this.#whole?.keeps(share);
  }

  #makeRoom(by: Share | undefined): boolean {
    for (const share of this.#yielding) {
      if (share === by) continue;
      return share.giveWay();
    }
    return false;
  }
}

/** How one holder is made to let go of what it has taken. */
export interface WayOut {
  /** Not yet, while it is false. */
  readonly isDue: () => boolean;
  readonly cut: () => void;
}

/** What one holder has taken: it grows, or changes to another size, and is given back as a whole. */
export class Share {
  readonly #budget: ByteBudget;
  #bytes = 0;
  #wayOut: WayOut | undefined;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Whether there was room; if not, nothing has changed. */
  resize(bytes: number): boolean {
    if (bytes > this.#bytes && !this.#budget.take(bytes - this.#bytes, this)) return false;
    if (bytes < this.#bytes) this.#budget.give(this.#bytes - bytes);
    this.#bytes = bytes;
    return true;
  }

  grow(bytes: number): boolean {
    return this.resize(this.#bytes + bytes);
  }

  release(): void {
    this.resize(0);
    this.keep();
  }

  /** From now on others who need room may take it from this holder, if it has any. */
  mayGiveWay(out: WayOut): void {
    if (this.#bytes === 0 || this.#wayOut) return;
    this.#budget.yields(this);
    this.#wayOut = out;
  }

  /** Not any more. */
  keep(): void {
    if (!this.#wayOut) return;
    this.#wayOut = undefined;
    this.#budget.keeps(this);
  }

  /** Whether it did. */
  giveWay(): boolean {
    const out = this.#wayOut;
    if (!out?.isDue()) return false;
    this.release();
    out.cut();
    return true;
  }
}
