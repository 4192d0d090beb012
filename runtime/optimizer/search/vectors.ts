/** Vectors of the tools, scaled to length 1, one after the other in one array; a slot without one is all zeros. */
export class Vectors {
  #dimensions = 0;
  #rows = new Float32Array(0);
  readonly #present = new Set<number>();

  /** Numbers of each vector; 0 as long as there is none. */
  get dimensions(): number {
    return this.#dimensions;
  }

  get count(): number {
    return this.#present.size;
  }

  has(slot: number): boolean {
    return this.#present.has(slot);
  }

  /**
   * Adds or replaces a vector.
   *
   * @throws RangeError when it has another number of dimensions than those that are there, or no direction.
   */
  set(slot: number, vector: Float32Array): void {
    if (this.#present.size === 0) this.clear(vector.length);
    if (vector.length !== this.#dimensions)
      throw new RangeError(`a vector of ${vector.length} dimensions among vectors of ${this.#dimensions}`);
    const unit = unitOf(vector);
    if (unit === undefined) throw new RangeError('a vector without direction');
    this.#reserve(slot + 1);
    this.#rows.set(unit, slot * this.#dimensions);
    this.#present.add(slot);
  }

  delete(slot: number): void {
    this.#present.delete(slot);
  }

  /** Drops all vectors, as when the model is another one. */
  clear(dimensions = 0): void {
    this.#present.clear();
    this.#dimensions = dimensions;
    this.#rows = new Float32Array(0);
  }

  /**
   * Cosine distances of the slots that have a vector and are in the mask, in no order: 0 for the same direction, 2 for
   * the opposite one.
   */
  distances(query: Float32Array, mask: Uint8Array): readonly { readonly slot: number; readonly distance: number }[] {
    const unit = query.length === this.#dimensions ? unitOf(query) : undefined;
    if (unit === undefined) return [];
    const found: { slot: number; distance: number }[] = [];
    for (const slot of this.#present)
      if (mask[slot] === 1) found.push({ slot, distance: 1 - dot(unit, this.#rows, slot * this.#dimensions) });
    return found;
  }

  /** Cosine distance of one slot; undefined where it has no vector, or the query has other dimensions. */
  distance(query: Float32Array, slot: number): number | undefined {
    const unit = this.#present.has(slot) && query.length === this.#dimensions ? unitOf(query) : undefined;
    return unit && 1 - dot(unit, this.#rows, slot * this.#dimensions);
  }

  #reserve(rows: number): void {
    const needed = rows * this.#dimensions;
    if (needed <= this.#rows.length) return;
    const grown = new Float32Array(Math.max(needed, Math.ceil(this.#rows.length * 1.5)));
    grown.set(this.#rows);
    this.#rows = grown;
  }
}

const unitOf = (vector: Float32Array): Float32Array | undefined => {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : undefined;
};

/** Four sums, so that an addition does not wait for the one before. */
const dot = (unit: Float32Array, rows: Float32Array, start: number): number => {
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = unit.length - (unit.length % 4);
  for (let at = 0; at < whole; at += 4) {
    a += (unit[at] ?? 0) * (rows[start + at] ?? 0);
    b += (unit[at + 1] ?? 0) * (rows[start + at + 1] ?? 0);
    c += (unit[at + 2] ?? 0) * (rows[start + at + 2] ?? 0);
    d += (unit[at + 3] ?? 0) * (rows[start + at + 3] ?? 0);
  }
  for (let at = whole; at < unit.length; at += 1) a += (unit[at] ?? 0) * (rows[start + at] ?? 0);
  return a + b + c + d;
};
