const nothing = Buffer.alloc(0);

/** Collects pieces into one buffer: many small pieces cost no more than their bytes. */
export class GrowableBuffer {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Ensures a capacity of `bytes` in total. */
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

  /** Returns everything so far and empties the buffer. */
  take(): Buffer {
    if (this.#length === 0) return nothing;
    const all = this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return all;
  }
}
