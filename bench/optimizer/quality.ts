import type { Hit } from '../../runtime/optimizer/search/index.ts';
import type { LabelledQuery } from './labelled.ts';

/** Shares of queries of which an answer is among the first hits. */
export interface Recall {
  readonly queries: number;
  readonly at1: number;
  readonly at5: number;
  readonly at8: number;
}

/** What is found of each query: its answers' best rank, from 1; undefined where none was found. */
export interface Ranked {
  readonly query: LabelledQuery;
  readonly rank: number | undefined;
  readonly first: string | undefined;
}

export const rankOf = (query: LabelledQuery, hits: readonly Hit[]): Ranked => {
  const at = hits.findIndex(({ tool }) => query.answers.has(tool.name));
  return { query, rank: at < 0 ? undefined : at + 1, first: hits[0]?.tool.name };
};

export const recallOf = (ranked: readonly Ranked[]): Recall => {
  const within = (limit: number): number =>
    ranked.filter(({ rank }) => rank !== undefined && rank <= limit).length / ranked.length;
  return { queries: ranked.length, at1: within(1), at5: within(5), at8: within(8) };
};
