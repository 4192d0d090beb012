import { type LruCache, lruCache } from '../../process/index.ts';
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
 * the time of a search depend on hidden ones. Tables that were not used lately are dropped first.
 */
export class SimilarWordsCache {
  readonly #mostWords: number;
  /** Its bytes are words. */
  readonly #tables: LruCache<SimilarWords, Uint8Array>;

  constructor({ tables, words } = BOUNDS) {
    this.#mostWords = words;
    this.#tables = lruCache({ count: tables, bytes: words });
  }

  get size(): number {
    return this.#tables.count();
  }

  tableOf(mask: Uint8Array, words: () => ReadonlySet<string>): SimilarWords {
    const before = this.#tables.get(mask);
    if (before) return before;
    const table = new SimilarWords(words());
    // One that is larger than all together may be is kept alone.
    this.#tables.set(mask, table, Math.min(table.size, this.#mostWords));
    return table;
  }
}
