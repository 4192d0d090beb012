/** A budget of bytes that many holders share. */
export class ByteBudget {
  readonly #limit: number;
  readonly #whole: ByteBudget | undefined;
  /** Shares that may be cut when there is no room, oldest first. */
  readonly #yielding = new Set<Share>();
  #taken = 0;

  constructor(limit: number, whole?: ByteBudget) {
    this.#limit = limit;
    this.#whole = whole;
  }

  /** A sub-budget for some of the holders, whose bytes count in this one, too. */
  part(of: (limit: number) => number): ByteBudget {
    return new ByteBudget(of(this.#limit), this);
  }

  /**
   * Takes bytes; other shares (never `by`) may be cut to make room. True: taken, and the same number must be given
   * back. False: there is no room.
   */
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

  /** The taken part of all bytes, 0 to 1. */
  get utilization(): number {
    return this.#taken / this.#limit;
  }

  /** From now on `share` may be cut when another holder needs room. */
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

/** How one holder is cut. */
export interface WayOut {
  /** The holder is not cut while this is false. */
  readonly isDue: () => boolean;
  readonly cut: () => void;
}

/** The bytes that one holder has taken; released as a whole. */
export class Share {
  readonly #budget: ByteBudget;
  #bytes = 0;
  #wayOut: WayOut | undefined;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Changes the size of the share. False: there is no room, and nothing has changed. */
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

  /** From now on this holder may be cut when others need room, if it has taken any. */
  mayGiveWay(out: WayOut): void {
    if (this.#bytes === 0 || this.#wayOut) return;
    this.#budget.yields(this);
    this.#wayOut = out;
  }

  /** Revokes `mayGiveWay`. */
  keep(): void {
    if (!this.#wayOut) return;
    this.#wayOut = undefined;
    this.#budget.keeps(this);
  }

  /** Cuts the holder if `isDue`. True: the holder was cut. */
  giveWay(): boolean {
    const out = this.#wayOut;
    if (!out?.isDue()) return false;
    this.release();
    out.cut();
    return true;
  }
}
