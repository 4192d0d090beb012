import { valueOfRank } from './best.ts';
import { termWeightsOf } from './document-terms.ts';
import type { Concept } from './query-concepts.ts';
import type { Selection } from './selection.ts';
import type { SimilarWord } from './similar-words.ts';
import { SimilarWordsCache } from './similar-words-cache.ts';
import type { ToolText } from './tool-text.ts';
import { toolWords } from './words.ts';

/** The tools that have a term, in no order, with its weight in each. */
interface Postings {
  readonly term: string;
  /** A small number, given again once no tool has the term. */
  readonly id: number;
  readonly slots: number[];
  readonly weights: number[];
}

/** A tool's place in the index, and its score. */
export interface Scored {
  readonly slot: number;
  readonly score: number;
}

/** Below 1 rare words count for less than in BM25: those of a long question often say what the tool is given. */
const RARITY_POWER = 0.75;

/**
 * An inverted index of terms. Rarity is taken over the tools of the caller's selection, and everything else that a
 * score is made of belongs to one tool, so that a score does not depend on tools outside of the selection. Terms that
 * only such tools have are passed over by one bit, and similar words are looked for among those of the selection, so
 * that the time of a search tells nothing of them either.
 */
export class KeywordIndex {
  readonly #postings = new Map<string, Postings>();
  readonly #freeIds: number[] = [];
  #ids = 0;
  /** By slot. */
  readonly #terms = new Map<number, readonly Postings[]>();
  /** A bit for each term that tools of a selection have, by its mask, which is another one after each change of it. */
  readonly #vocabularies = new WeakMap<Uint8Array, Uint32Array>();
  readonly #similar = new SimilarWordsCache();
  readonly #wordsOf = toolWords();
  readonly #sums = new Sums();

  add(slot: number, text: ToolText): void {
    const terms = [...termWeightsOf(text, this.#wordsOf)].map(([term, weight]) => {
      const postings = this.#postings.get(term) ?? this.#newPostings(term);
      postings.slots.push(slot);
      postings.weights.push(weight);
      return postings;
    });
    this.#terms.set(slot, terms);
  }

  #newPostings(term: string): Postings {
    const postings = { term, id: this.#freeIds.pop() ?? this.#ids++, slots: [], weights: [] };
    this.#postings.set(term, postings);
    return postings;
  }

  remove(slot: number): void {
    for (const { term, id, slots, weights } of this.#terms.get(slot) ?? []) {
      const at = slots.indexOf(slot);
      slots.splice(at, 1);
      weights.splice(at, 1);
      if (slots.length > 0) continue;
      this.#postings.delete(term);
      this.#freeIds.push(id);
    }
    this.#terms.delete(slot);
  }

  /** Whether a tool of the selection has the term. */
  has(term: string, selection: Selection): boolean {
    return this.#visible(term, this.#vocabularyOf(selection)) !== undefined;
  }

  /** Terms of the selection that are spelt alike. */
  similarTo(term: string, limit: number, { mask }: Selection): readonly SimilarWord[] {
    return this.#similar.tableOf(mask, () => this.#termsOf(mask)).near(term, limit);
  }

  #termsOf(mask: Uint8Array): ReadonlySet<string> {
    const terms = new Set<string>();
    for (let slot = 0; slot < mask.length; slot += 1)
      if (mask[slot] === 1) for (const { term } of this.#terms.get(slot) ?? []) terms.add(term);
    return terms;
  }

  #visible(term: string, vocabulary: Uint32Array): Postings | undefined {
    const postings = this.#postings.get(term);
    return postings && ((vocabulary[postings.id >>> 5] ?? 0) >>> (postings.id & 31)) & 1 ? postings : undefined;
  }

  #vocabularyOf({ mask }: Selection): Uint32Array {
    const before = this.#vocabularies.get(mask);
    if (before) return before;
    const made = new Uint32Array((this.#ids >>> 5) + 1);
    for (let slot = 0; slot < mask.length; slot += 1) {
      if (mask[slot] !== 1) continue;
      for (const { id } of this.#terms.get(slot) ?? []) made[id >>> 5] = (made[id >>> 5] ?? 0) | (1 << (id & 31));
    }
    this.#vocabularies.set(mask, made);
    return made;
  }

  /** The `count` best tools of the selection, and those as good as the last of them, in no order. */
  score(concepts: readonly Concept[], selection: Selection, count: number): readonly Scored[] {
    this.#sums.reserve(selection.mask.length);
    for (const concept of concepts) this.#addConcept(concept, selection);
    return this.#sums.take(count);
  }

  /** Alternatives of a concept are one term: its rarity is that of all of them together, and the best one counts. */
  #addConcept({ alternatives }: Concept, selection: Selection): void {
    const { mask, size } = selection;
    const vocabulary = this.#vocabularyOf(selection);
    for (const { term, weight } of alternatives) {
      const postings = this.#visible(term, vocabulary);
      if (!postings) continue;
      const { slots, weights } = postings;
      for (let at = 0; at < slots.length; at += 1) {
        const slot = slots[at] ?? 0;
        if (mask[slot] === 1) this.#sums.offer(slot, weight * (weights[at] ?? 0));
      }
    }
    const having = this.#sums.offered;
    this.#sums.add(Math.log(1 + (size - having + 0.5) / (having + 0.5)) ** RARITY_POWER);
  }
}

/** Sums by slot, of which each summand is the largest of those that were offered. The arrays are used again. */
class Sums {
  #offers = new Float64Array(0);
  #sums = new Float64Array(0);
  /** Slots that have an offer, and slots that have a sum. */
  #offeredSlots = new Int32Array(0);
  #summedSlots = new Int32Array(0);
  #summed = 0;
  offered = 0;

  reserve(slots: number): void {
    if (slots <= this.#sums.length) return;
    this.#offers = new Float64Array(slots);
    this.#sums = new Float64Array(slots);
    this.#offeredSlots = new Int32Array(slots);
    this.#summedSlots = new Int32Array(slots);
  }

  offer(slot: number, value: number): void {
    const known = this.#offers[slot] ?? 0;
    if (known >= value) return;
    if (known === 0) this.#offeredSlots[this.offered++] = slot;
    this.#offers[slot] = value;
  }

  /** Adds the largest offers, multiplied with the factor. */
  add(factor: number): void {
    for (let at = 0; at < this.offered; at += 1) {
      const slot = this.#offeredSlots[at] ?? 0;
      const sum = this.#sums[slot] ?? 0;
      if (sum === 0) this.#summedSlots[this.#summed++] = slot;
      this.#sums[slot] = sum + factor * (this.#offers[slot] ?? 0);
      this.#offers[slot] = 0;
    }
    this.offered = 0;
  }

  /** The largest `count` sums, and those that equal the last of them; all are 0 after it. */
  take(count: number): readonly Scored[] {
    const values = new Float64Array(this.#summed);
    for (let at = 0; at < values.length; at += 1) values[at] = this.#sums[this.#summedSlots[at] ?? 0] ?? 0;
    const least = valueOfRank(values, count);
    const taken: Scored[] = [];
    for (let at = 0; at < this.#summed; at += 1) {
      const slot = this.#summedSlots[at] ?? 0;
      const score = this.#sums[slot] ?? 0;
      if (score >= least) taken.push({ slot, score });
      this.#sums[slot] = 0;
    }
    this.#summed = 0;
    return taken;
  }
}
