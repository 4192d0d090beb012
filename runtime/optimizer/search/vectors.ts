import { valueOfRank } from './best.ts';
import { type DotProducts, dotProducts, ROW_UNIT } from './dot-products.ts';

export interface Near {
  readonly slot: number;
  /** Cosine distance: 0 for the same direction, 2 for the opposite one. */
  readonly distance: number;
}

/** Largest number of a row in 8 bits. */
const ROW_SCALE = 127;
/** Length of a query in 16 bits; with rows of up to 16,384 numbers no product reaches 2^31. */
const QUERY_SCALE = 2 ** 14;
const MAX_DIMENSIONS = 16_384;
/** What rounding to 8 bits may change a cosine by: ten times what it does as a rule. */
const ROUNDING = 0.003;
/** Below every cosine: a slot that is not compared. */
const NONE = -2;

/**
 * Vectors of the tools, scaled to length 1. A search compares all of them rounded to 8 bits, a quarter of the memory to
 * read, and then those that come first once more as they are.
 */
export class Vectors {
  #dimensions = 0;
  #rows = new Float32Array(0);
  #rounded: DotProducts = dotProducts(0);
  /** By slot, what a product of rounded numbers is multiplied with; 0 where a slot has no vector. */
  #scales = new Float32Array(0);
  #cosines = new Float32Array(0);
  #count = 0;

  /** Numbers of each vector; 0 as long as there is none. */
  get dimensions(): number {
    return this.#dimensions;
  }

  get count(): number {
    return this.#count;
  }

  has(slot: number): boolean {
    return (this.#scales[slot] ?? 0) > 0;
  }

  /**
   * Adds or replaces a vector.
   *
   * @throws RangeError when it has another number of dimensions than those that are there, or no direction.
   */
  set(slot: number, vector: Float32Array): void {
    const unit = unitOf(vector);
    if (unit === undefined) throw new RangeError('a vector without direction');
    if (this.#count === 0) this.clear(vector.length);
    if (vector.length !== this.#dimensions)
      throw new RangeError(`a vector of ${vector.length} dimensions among vectors of ${this.#dimensions}`);
    this.#reserve(slot + 1);
    this.#rows.set(unit, slot * this.#dimensions);
    const scale = unit.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / ROW_SCALE;
    round(unit, 1 / scale, this.#rounded.row(slot));
    if (!this.has(slot)) this.#count += 1;
    this.#scales[slot] = scale / QUERY_SCALE;
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    this.#scales[slot] = 0;
    this.#count -= 1;
  }

  /**
   * Drops all vectors, as when the model is another one.
   *
   * @throws RangeError for more dimensions than can be compared.
   */
  clear(dimensions = 0): void {
    if (dimensions > MAX_DIMENSIONS) throw new RangeError(`a vector of more than ${MAX_DIMENSIONS} dimensions`);
    this.#rounded = dotProducts(Math.ceil(dimensions / ROW_UNIT) * ROW_UNIT);
    this.#dimensions = dimensions;
    this.#rows = new Float32Array(0);
    this.#scales = new Float32Array(0);
    this.#count = 0;
  }

  /** The nearest `count` of the slots in the mask, and those as near as the last of them, in no order. */
  nearest(query: Float32Array, mask: Uint8Array, count: number): readonly Near[] {
    const unit = this.#unitOfQuery(query);
    if (unit === undefined) return [];
    const cosines = this.#roundedCosines(unit, mask);
    const least = valueOfRank(cosines, count) - ROUNDING;
    const near: Near[] = [];
    for (let slot = 0; slot < cosines.length; slot += 1)
      if ((cosines[slot] ?? NONE) >= least && cosines[slot] !== NONE)
        near.push({ slot, distance: this.#distance(unit, slot) });
    return near;
  }

  /** Of one slot; undefined where it has no vector, or the query has other dimensions. */
  distance(query: Float32Array, slot: number): number | undefined {
    const unit = this.has(slot) ? this.#unitOfQuery(query) : undefined;
    return unit && this.#distance(unit, slot);
  }

  #unitOfQuery(query: Float32Array): Float32Array | undefined {
    return this.#count > 0 && query.length === this.#dimensions ? unitOf(query) : undefined;
  }

  /** By slot; valid until the next call. */
  #roundedCosines(unit: Float32Array, mask: Uint8Array): Float32Array {
    round(unit, QUERY_SCALE, this.#rounded.query());
    const rows = Math.min(mask.length, this.#scales.length);
    const products = this.#rounded.compute(rows);
    const cosines = this.#cosines.subarray(0, rows);
    for (let slot = 0; slot < rows; slot += 1) {
      const scale = this.#scales[slot] ?? 0;
      cosines[slot] = mask[slot] === 1 && scale > 0 ? scale * (products[slot] ?? 0) : NONE;
    }
    return cosines;
  }

  #distance(unit: Float32Array, slot: number): number {
    const start = slot * this.#dimensions;
    let [even, odd] = [0, 0];
    for (let at = 0; at < unit.length; at += 2) {
      even += (unit[at] ?? 0) * (this.#rows[start + at] ?? 0);
      odd += (unit[at + 1] ?? 0) * (this.#rows[start + at + 1] ?? 0);
    }
    return 1 - even - odd;
  }

  #reserve(rows: number): void {
    if (rows <= this.#scales.length) return;
    const capacity = Math.max(rows, 64, Math.ceil(this.#scales.length * 1.5));
    this.#rows = grown(this.#rows, capacity * this.#dimensions);
    this.#scales = grown(this.#scales, capacity);
    this.#cosines = new Float32Array(capacity);
    this.#rounded.reserve(capacity);
  }
}

const grown = (values: Float32Array<ArrayBuffer>, length: number): Float32Array<ArrayBuffer> => {
  const larger = new Float32Array(length);
  larger.set(values);
  return larger;
};

const unitOf = (vector: Float32Array): Float32Array | undefined => {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Number.isFinite(length) && length > 0 ? vector.map((value) => value / length) : undefined;
};

const round = (unit: Float32Array, scale: number, into: Int8Array | Int16Array): void => {
  for (let at = 0; at < unit.length; at += 1) into[at] = Math.round((unit[at] ?? 0) * scale);
};
