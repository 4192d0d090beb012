/** A word of the index, and how alike it is: 1 is equal. */
export interface SimilarWord {
  readonly word: string;
  readonly similarity: number;
}

/** Below it words have hardly more in common than an ending. */
const MIN_SIMILARITY = 0.45;

/** Finds words by the runs of three characters that they share, for misspelt words and parts of compounds. */
export class SimilarWords {
  readonly #byTrigram = new Map<string, Set<string>>();

  add(word: string): void {
    for (const trigram of trigramsOf(word)) {
      const words = this.#byTrigram.get(trigram);
      if (words) words.add(word);
      else this.#byTrigram.set(trigram, new Set([word]));
    }
  }

  remove(word: string): void {
    for (const trigram of trigramsOf(word)) {
      const words = this.#byTrigram.get(trigram);
      words?.delete(word);
      if (words?.size === 0) this.#byTrigram.delete(trigram);
    }
  }

  /** The most similar words of which `isKnown` holds, best first, equally similar ones by their letters. */
  near(word: string, limit: number, isKnown: (word: string) => boolean): readonly SimilarWord[] {
    const trigrams = trigramsOf(word);
    const shared = new Map<string, number>();
    for (const trigram of trigrams)
      for (const other of this.#byTrigram.get(trigram) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
    const found: SimilarWord[] = [];
    for (const [other, count] of shared) {
      const similarity = (2 * count) / (trigrams.size + trigramsOf(other).size);
      if (similarity >= MIN_SIMILARITY) found.push({ word: other, similarity });
    }
    return found
      .toSorted((a, b) => b.similarity - a.similarity || (a.word < b.word ? -1 : 1))
      .filter(({ word: other }) => isKnown(other))
      .slice(0, limit);
  }
}

/** Dice's coefficient of the trigrams of two texts: 0 to 1. */
export const similarityOf = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  let shared = 0;
  for (const trigram of one) if (other.has(trigram)) shared += 1;
  return one.size + other.size === 0 ? 0 : (2 * shared) / (one.size + other.size);
};

/** Trigrams of a word with its borders, so that the first letter and the last one count. */
export const trigramsOf = (word: string): ReadonlySet<string> => {
  const bordered = ` ${word} `;
  const trigrams = new Set<string>();
  for (let at = 0; at + 3 <= bordered.length; at += 1) trigrams.add(bordered.slice(at, at + 3));
  return trigrams;
};
