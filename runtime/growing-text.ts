const nothing = Buffer.alloc(0);

/** Bytes that come in pieces, kept as one: many small pieces cost no more than their bytes. */
export class GrowingText {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Makes room for so many bytes altogether. */
  reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(bytes);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  append(piece: Buffer): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) this.reserve(Math.max(needed, 2 * this.#bytes.length));
    piece.copy(this.#bytes, this.#length);
    this.#length = needed;
  }

  /** Everything so far; begins anew. */
  take(): Buffer {
    if (this.#length === 0) return nothing;
    const all = this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return all;
  }
}
