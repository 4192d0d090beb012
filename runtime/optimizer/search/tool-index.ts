import { best } from './best.ts';
import { fusedScore, type Ranks } from './fusion.ts';
import { KeywordIndex, type Scored } from './keyword-index.ts';
import { conceptsOf } from './query-concepts.ts';
import { type Nearest, nearestOf } from './nearest.ts';
import { Selection } from './selection.ts';
import { contentHashOf, embeddingTextOf, type SearchableTool, textOf } from './tool-text.ts';
import { Vectors } from './vectors.ts';

/** What is sought. */
export interface Query {
  readonly text: string;
  /** Of `text`, from the model of the tools' vectors; without it tools are found by keywords alone. */
  readonly vector?: Float32Array | undefined;
}

export interface SearchOptions {
  /** The tools that the caller may find. */
  readonly among: Selection;
  readonly limit: number;
  /** 0 by keywords only, 1 by meaning only. Without a vector in the query it counts as 0. */
  readonly semanticRatio: number;
  /** Cosine distance, 0 to 2: what is further away is not found by meaning. */
  readonly distanceThreshold: number;
}

export interface Hit {
  readonly tool: SearchableTool;
  readonly contentHash: string;
  /** 0 to 1: comparable inside of one answer only. */
  readonly score: number;
  /** From 1. */
  readonly keywordRank?: number;
  readonly semanticRank?: number;
  readonly semanticDistance?: number;
}

export interface Explanation {
  /** `no_match`: no ranking that counts has the tool. */
  readonly outcome: 'found' | 'beyond_limit' | 'no_match' | 'not_in_selection';
  /** From 1, whatever the limit. */
  readonly rank?: number;
  /** Undefined where the tool has none of the words. */
  readonly keywordRank?: number;
  readonly semanticDistance?: number;
  readonly isBeyondThreshold?: boolean;
  readonly hasVector?: boolean;
}

/** Like no word of a tool: words that are like it are looked for in vain. */
const NO_WORD = 'qzxjqk';

/** Ranks of each ranking that take part in the fusion. */
const DEPTH = 100;

interface Found extends Scored {
  readonly keyword?: { readonly rank: number; readonly score: number };
  readonly semantic?: { readonly rank: number; readonly score: number };
}

interface Entry {
  readonly slot: number;
  readonly hash: string;
  readonly tool: SearchableTool;
  /** Catalogs that have it. */
  uses: number;
  /** The embedding model takes no such text. */
  isRefused: boolean;
}

/** How many tools of a selection have a vector, can have none, and have none yet. */
export interface Coverage {
  readonly embedded: number;
  readonly refused: number;
  readonly missing: number;
}

/** All tools of a process, each content once, whoever sees it. Changes cost as much as the tools that changed. */
export class ToolIndex {
  readonly #entries = new Map<string, Entry>();
  readonly #bySlot: (Entry | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #keywords = new KeywordIndex();
  readonly #vectors = new Vectors();
  #changes = 0;
  #refused = 0;

  /** Number of contents. */
  get size(): number {
    return this.#entries.size;
  }

  /** Contents that have a vector. */
  get vectorCount(): number {
    return this.#vectors.count;
  }

  /** Contents that can have none. */
  get refusedCount(): number {
    return this.#refused;
  }

  /** Depends on nothing outside of the selection, nor does the time that it takes. */
  coverageOf({ mask, size }: Selection): Coverage {
    let [embedded, refused] = [0, 0];
    for (let slot = 0; slot < mask.length; slot += 1) {
      if (mask[slot] !== 1) continue;
      if (this.#vectors.has(slot)) embedded += 1;
      else if (this.#bySlot[slot]?.isRefused) refused += 1;
    }
    return { embedded, refused, missing: size - embedded - refused };
  }

  /** Numbers of each vector; 0 as long as there is none. */
  get dimensions(): number {
    return this.#vectors.dimensions;
  }

  /** Adds a use of a tool's content, and returns its hash. Each use is ended by one `remove`. */
  add(tool: SearchableTool, hash = contentHashOf(tool)): string {
    const known = this.#entries.get(hash);
    if (known) {
      known.uses += 1;
      return hash;
    }
    const slot = this.#free.pop() ?? this.#bySlot.length;
    const entry = { slot, hash, tool, uses: 1, isRefused: false };
    this.#entries.set(hash, entry);
    this.#bySlot[slot] = entry;
    this.#keywords.add(slot, textOf(tool));
    this.#changes += 1;
    return hash;
  }

  /** Ends a use; after the last one the content is removed, with its vector. */
  remove(contentHash: string): void {
    const entry = this.#entries.get(contentHash);
    if (!entry) return;
    entry.uses -= 1;
    if (entry.uses > 0) return;
    this.#entries.delete(contentHash);
    if (entry.isRefused) this.#refused -= 1;
    this.#bySlot[entry.slot] = undefined;
    this.#keywords.remove(entry.slot);
    this.#vectors.delete(entry.slot);
    this.#free.push(entry.slot);
    this.#changes += 1;
  }

  /**
   * Vectors of all tools come from one model. Ignored when the content is not there any more.
   *
   * @throws RangeError when the vector has another number of dimensions than the present ones, or no direction.
   */
  setVector(contentHash: string, vector: Float32Array): void {
    const entry = this.#entries.get(contentHash);
    if (entry) this.#vectors.set(entry.slot, vector);
  }

  /** The model takes no text of this tool: it is not missing any more, until another model is there. */
  setRefused(contentHash: string): void {
    const entry = this.#entries.get(contentHash);
    if (!entry || entry.isRefused) return;
    entry.isRefused = true;
    this.#refused += 1;
  }

  /** Drops all vectors, and what was refused, as when the model is another one. */
  clearVectors(): void {
    this.#vectors.clear();
    for (const entry of this.#entries.values()) entry.isRefused = false;
    this.#refused = 0;
  }

  /** The contents that have to be embedded still. */
  missingVectors(): readonly string[] {
    return [...this.#entries.values()]
      .filter(({ slot, isRefused }) => !isRefused && !this.#vectors.has(slot))
      .map(({ hash }) => hash);
  }

  /** What an embedding model is given of a tool; undefined when the content is not there any more. */
  embeddingTextOf(contentHash: string): string | undefined {
    const entry = this.#entries.get(contentHash);
    return entry && embeddingTextOf(entry.tool);
  }

  /** The tools that a caller may find. Callers of equal rights share one; it follows the changes of the index. */
  select(contentHashes: readonly string[]): Selection {
    return new Selection(contentHashes, {
      placeOf: (hash) => this.#entries.get(hash),
      capacity: () => this.#bySlot.length,
      changes: () => this.#changes,
    });
  }

  /** Makes what the first search among these would make, so that no caller waits for it. */
  prepare(among: Selection): void {
    this.search({ text: NO_WORD }, { among, limit: 1, semanticRatio: 0, distanceThreshold: 0 });
  }

  /** The best tools of the selection, best first; equal ones by name. Depends on nothing outside of the selection. */
  search(query: Query, options: SearchOptions): readonly Hit[] {
    return best(this.#fuse(query, options), options.limit, this.#isBefore).map((found) => this.#hitOf(found));
  }

  /** Why a search does, or does not, find a tool. */
  explain(query: Query, contentHash: string, options: SearchOptions): Explanation {
    const entry = this.#entries.get(contentHash);
    if (!entry || options.among.mask[entry.slot] !== 1) return { outcome: 'not_in_selection' };
    const { slot } = entry;
    const { size } = options.among;
    const fused = best(this.#fuse(query, { ...options, limit: size }), size, this.#isBefore);
    const at = fused.findIndex((found) => found.slot === slot);
    const keywords = best(this.#byKeywords(query.text, options.among, size), size, this.#isBefore);
    const keywordAt = keywords.findIndex((found) => found.slot === slot);
    const distance = query.vector && this.#vectors.distance(query.vector, slot);
    return {
      outcome: at < 0 ? 'no_match' : at < options.limit ? 'found' : 'beyond_limit',
      ...(at >= 0 && { rank: at + 1 }),
      ...(keywordAt >= 0 && { keywordRank: keywordAt + 1 }),
      ...(distance !== undefined && {
        semanticDistance: distance,
        isBeyondThreshold: distance > options.distanceThreshold,
      }),
      hasVector: this.#vectors.has(slot),
    };
  }

  /** Names to offer when a search finds nothing: of tools and servers of the selection. */
  nearest(text: string, among: Selection, limit: number): Nearest {
    const tools = this.#bySlot.flatMap((entry) => (entry && among.mask[entry.slot] === 1 ? [entry.tool] : []));
    return nearestOf(text, tools, limit);
  }

  #fuse({ text, vector }: Query, { among, limit, semanticRatio, ...options }: SearchOptions): readonly Found[] {
    const ratio = vector ? semanticRatio : 0;
    const found = new Map<number, Found>();
    const areWordsRead = ratio < 1 || this.coverageOf(among).embedded < among.size;
    // What one ranking alone decides needs no more of it than the answer has.
    const count = ratio > 0 && areWordsRead ? Math.max(DEPTH, limit) : limit;
    const rank = (ranking: 'keyword' | 'semantic', scored: readonly Scored[]): void => {
      for (const [index, { slot, score }] of best(scored, count, this.#isBefore).entries())
        found.set(slot, { score: 0, slot, ...found.get(slot), [ranking]: { rank: index + 1, score } });
    };
    if (areWordsRead) rank('keyword', this.#byKeywords(text, among, count));
    if (vector && ratio > 0) rank('semantic', this.#byMeaning(vector, { ...options, among, count }));
    return [...found.values()]
      .map((one) => ({ ...one, score: fusedScore(this.#ranksOf(one), ratio) }))
      .filter(({ score }) => score > 0);
  }

  /** A tool without a vector is taken to mean what its words say, so that none is lost. */
  #ranksOf({ slot, keyword, semantic }: Found): Ranks {
    const byMeaning = this.#vectors.has(slot) ? semantic : keyword;
    return { keyword: keyword?.rank, semantic: byMeaning?.rank };
  }

  #byKeywords(text: string, among: Selection, count: number): readonly Scored[] {
    return this.#keywords.score(conceptsOf(text, this.#keywords, among), among, count);
  }

  #byMeaning(
    vector: Float32Array,
    {
      among,
      count,
      distanceThreshold,
    }: Pick<SearchOptions, 'among' | 'distanceThreshold'> & { readonly count: number },
  ): readonly Scored[] {
    return this.#vectors
      .nearest(vector, among.mask, count)
      .filter(({ distance }) => distance <= distanceThreshold)
      .map(({ slot, distance }) => ({ slot, score: 1 - distance }));
  }

  readonly #isBefore = (a: Scored, b: Scored): boolean => {
    if (a.score !== b.score) return a.score > b.score;
    const [one, other] = [this.#bySlot[a.slot], this.#bySlot[b.slot]];
    const [name, otherName] = [one?.tool.name ?? '', other?.tool.name ?? ''];
    return name === otherName ? (one?.hash ?? '') < (other?.hash ?? '') : name < otherName;
  };

  #hitOf({ slot, score, keyword, semantic }: Found): Hit {
    const entry = this.#bySlot[slot];
    if (!entry) throw new RangeError(`no tool at slot ${slot}`);
    return {
      tool: entry.tool,
      contentHash: entry.hash,
      score,
      ...(keyword && { keywordRank: keyword.rank }),
      ...(semantic && { semanticRank: semantic.rank, semanticDistance: 1 - semantic.score }),
    };
  }
}
