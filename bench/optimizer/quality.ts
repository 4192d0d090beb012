import { contentHashOf, embeddingTextOf, ToolIndex } from '../../runtime/optimizer/search/index.ts';
import { labelledQueries, type LabelledQuery, offeredTools } from './labelled.ts';

/** Shares of queries of which an answer is among the first hits. */
export interface Recall {
  readonly queries: number;
  readonly at1: number;
  readonly at5: number;
  readonly at8: number;
}

/** A query, and the best rank of its answers, from 1; undefined where none is among the first hits. */
export interface Ranked {
  readonly query: LabelledQuery;
  readonly rank: number | undefined;
}

export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

/** The default of `maxToolsToReturn`. */
export const LIMIT = 8;
/** The default of `semanticDistanceThreshold`. */
const DISTANCE_THRESHOLD = 1;

/** An index of all tools; with `embed` it has their vectors. */
export const indexOfAll = async (embed?: Embed): Promise<ToolIndex> => {
  const index = new ToolIndex();
  const tools = offeredTools();
  const hashes = tools.map((tool) => index.add(tool));
  const vectors = (await embed?.(tools.map(embeddingTextOf))) ?? [];
  for (const [at, vector] of vectors.entries()) index.setVector(hashes[at] ?? '', vector);
  return index;
};

/** A query, and the names of the tools that are found for it, best first. */
export interface Searched {
  readonly query: LabelledQuery;
  readonly names: readonly string[];
}

/** All queries, searched among all tools; `vectors` are those of the queries, in their order. */
export const searchAll = (
  index: ToolIndex,
  semanticRatio: number,
  vectors?: readonly Float32Array[],
): readonly Searched[] => {
  const among = index.select(offeredTools().map(contentHashOf));
  const options = { among, limit: LIMIT, semanticRatio, distanceThreshold: DISTANCE_THRESHOLD };
  return labelledQueries().map((query, at) => {
    const hits = index.search({ text: query.text, vector: vectors?.[at] }, options);
    return { query, names: hits.map(({ tool: { name } }) => name) };
  });
};

/** The best rank of an answer to each query; `embed` makes the vectors of the queries. */
export const rankAll = async (index: ToolIndex, semanticRatio: number, embed?: Embed): Promise<readonly Ranked[]> => {
  const vectors = await embed?.(labelledQueries().map(({ text }) => text));
  return searchAll(index, semanticRatio, vectors).map(({ query, names }) => {
    const found = names.findIndex((name) => query.answers.has(name));
    return { query, rank: found < 0 ? undefined : found + 1 };
  });
};

export const recallOf = (ranked: readonly Ranked[]): Recall => {
  const within = (limit: number): number =>
    ranked.filter(({ rank }) => rank !== undefined && rank <= limit).length / ranked.length;
  return { queries: ranked.length, at1: within(1), at5: within(5), at8: within(LIMIT) };
};
