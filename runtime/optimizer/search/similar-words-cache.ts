import { SimilarWords } from './similar-words.ts';

export interface TableBounds {
  readonly tables: number;
  /** Of all tables together. */
  readonly words: number;
}

/** A word takes about 300 bytes: 30 MiB at most, and one table of any size. */
const BOUNDS: TableBounds = { tables: 32, words: 100_000 };

/**
 * A table of the words of each selection, by its mask, made when it is first needed: a table of all words would have
 * the time of a search depend on hidden ones. The least recently used tables are dropped first.
 */
export class SimilarWordsCache {
  readonly #bounds: TableBounds;
  /** Maps keep the order of insertion: the first table is the least recently used one. */
  readonly #tables = new Map<Uint8Array, SimilarWords>();
  #words = 0;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#tables.size;
  }

  tableOf(mask: Uint8Array, words: () => ReadonlySet<string>): SimilarWords {
    const before = this.#tables.get(mask);
    const table = before ?? new SimilarWords(words());
    if (before) this.#tables.delete(mask);
    else this.#words += table.size;
    this.#tables.set(mask, table);
    for (const [oldest, { size }] of this.#tables) {
      const isWithin = this.#tables.size <= this.#bounds.tables && this.#words <= this.#bounds.words;
      if (isWithin || oldest === mask) break;
      this.#tables.delete(oldest);
      this.#words -= size;
    }
    return table;
  }
}
