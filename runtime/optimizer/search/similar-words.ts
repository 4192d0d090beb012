import { best } from './best.ts';

/** A word of the index, and how alike it is: 1 is equal. */
export interface SimilarWord {
  readonly word: string;
  readonly similarity: number;
}

interface Known {
  readonly word: string;
  readonly trigrams: number;
  /** Trigrams shared with the word of the search that runs, else 0. */
  shared: number;
}

/** Below it words have hardly more in common than an ending. */
const MIN_SIMILARITY = 0.45;

/** Finds words of a vocabulary by the runs of three characters that they share, for misspelt words and compounds. */
export class SimilarWords {
  readonly #byTrigram = new Map<number, Known[]>();
  readonly size: number;

  constructor(words: ReadonlySet<string>) {
    this.size = words.size;
    for (const word of words) {
      const trigrams = trigramsOf(word);
      const known = { word, trigrams: trigrams.size, shared: 0 };
      for (const trigram of trigrams) {
        const having = this.#byTrigram.get(trigram);
        if (having) having.push(known);
        else this.#byTrigram.set(trigram, [known]);
      }
    }
  }

  /** The most similar words, best first, equally similar ones by their letters. */
  near(word: string, limit: number): readonly SimilarWord[] {
    const trigrams = trigramsOf(word);
    const sharing: Known[] = [];
    for (const trigram of trigrams)
      for (const known of this.#byTrigram.get(trigram) ?? []) {
        if (known.shared === 0) sharing.push(known);
        known.shared += 1;
      }
    const similar: SimilarWord[] = [];
    for (const known of sharing) {
      const similarity = (2 * known.shared) / (trigrams.size + known.trigrams);
      if (similarity >= MIN_SIMILARITY) similar.push({ word: known.word, similarity });
      known.shared = 0;
    }
    return best(similar, limit, isBefore);
  }
}

const isBefore = (a: SimilarWord, b: SimilarWord): boolean =>
  a.similarity === b.similarity ? a.word < b.word : a.similarity > b.similarity;

/** Dice's coefficient of the trigrams of two texts: 0 to 1. */
export const similarityOf = (one: ReadonlySet<number>, other: ReadonlySet<number>): number => {
  let shared = 0;
  for (const trigram of one) if (other.has(trigram)) shared += 1;
  return one.size + other.size === 0 ? 0 : (2 * shared) / (one.size + other.size);
};

/**
 * Trigrams of a word with its borders, so that the first letter and the last one count; each as a number, which is its
 * own for letters of ASCII.
 */
export const trigramsOf = (word: string): ReadonlySet<number> => {
  const trigrams = new Set<number>();
  let [first, second] = [0, BORDER];
  for (let at = 0; at <= word.length; at += 1) {
    const third = at < word.length ? word.charCodeAt(at) : BORDER;
    if (at > 0) trigrams.add((Math.imul(first, 0x4001) ^ (second << 7) ^ third) & 0x3fff_ffff);
    first = second;
    second = third;
  }
  return trigrams;
};

const BORDER = 32;
