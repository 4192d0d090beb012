import { termWeightsOf } from './document-terms.ts';
import type { Concept } from './query-concepts.ts';
import type { Selection } from './selection.ts';
import { SimilarWords } from './similar-words.ts';
import type { ToolText } from './tool-text.ts';

/** The tools that have a term, in no order, with its weight in each. */
interface Postings {
  readonly slots: number[];
  readonly weights: number[];
}

/** A tool's place in the index, and its score. */
export interface Scored {
  readonly slot: number;
  readonly score: number;
}

/**
 * An inverted index of terms. Rarity is taken over the tools of the caller's selection, and everything else that a
 * score is made of belongs to one tool, so that a score does not depend on tools outside of the selection.
 */
export class KeywordIndex {
  readonly #postings = new Map<string, Postings>();
  readonly #terms = new Map<number, readonly string[]>();
  readonly #similar = new SimilarWords();
  /** Scratch, by slot: the best alternative of a concept, and the sum over concepts. */
  #best = new Float64Array(0);
  #total = new Float64Array(0);

  add(slot: number, text: ToolText): void {
    const weights = termWeightsOf(text);
    this.#terms.set(slot, [...weights.keys()]);
    for (const [term, weight] of weights) {
      const postings = this.#postings.get(term);
      if (postings) {
        postings.slots.push(slot);
        postings.weights.push(weight);
      } else {
        this.#postings.set(term, { slots: [slot], weights: [weight] });
        this.#similar.add(term);
      }
    }
  }

  remove(slot: number): void {
    for (const term of this.#terms.get(slot) ?? []) {
      const postings = this.#postings.get(term);
      if (!postings) continue;
      const at = postings.slots.indexOf(slot);
      postings.slots.splice(at, 1);
      postings.weights.splice(at, 1);
      if (postings.slots.length > 0) continue;
      this.#postings.delete(term);
      this.#similar.remove(term);
    }
    this.#terms.delete(slot);
  }

  /** Whether a tool of the selection has the term. */
  has(term: string, { mask }: Selection): boolean {
    return this.#postings.get(term)?.slots.some((slot) => mask[slot] === 1) === true;
  }

  /** Terms of the selection that are spelt alike. */
  similarTo(term: string, limit: number, selection: Selection): ReturnType<SimilarWords['near']> {
    return this.#similar.near(term, limit, (other) => this.has(other, selection));
  }

  /** The tools of the selection that have any of the concepts, in no order. */
  score(concepts: readonly Concept[], selection: Selection): readonly Scored[] {
    const { mask, size } = selection;
    if (this.#total.length < mask.length) {
      this.#best = new Float64Array(mask.length);
      this.#total = new Float64Array(mask.length);
    }
    const touched: number[] = [];
    for (const concept of concepts) this.#addConcept(concept, { mask, size, touched });
    return touched.map((slot) => {
      const score = this.#total[slot] ?? 0;
      this.#total[slot] = 0;
      return { slot, score };
    });
  }

  /** Alternatives of a concept are one term: its rarity is that of all of them together, and the best one counts. */
  #addConcept(
    { alternatives, weight }: Concept,
    { mask, size, touched }: { readonly mask: Uint8Array; readonly size: number; readonly touched: number[] },
  ): void {
    const having: number[] = [];
    for (const { term, weight: share } of alternatives) {
      const postings = this.#postings.get(term);
      if (!postings) continue;
      for (let at = 0; at < postings.slots.length; at += 1) {
        const slot = postings.slots[at] ?? 0;
        if (mask[slot] !== 1) continue;
        const known = this.#best[slot] ?? 0;
        if (known === 0) having.push(slot);
        this.#best[slot] = Math.max(known, share * (postings.weights[at] ?? 0));
      }
    }
    const rarity = weight * Math.log(1 + (size - having.length + 0.5) / (having.length + 0.5));
    for (const slot of having) {
      const total = this.#total[slot] ?? 0;
      if (total === 0) touched.push(slot);
      this.#total[slot] = total + rarity * (this.#best[slot] ?? 0);
      this.#best[slot] = 0;
    }
  }
}
