import type { EmbeddedTools } from './embedded-tools.ts';
import type { Degraded } from './embeddings/query-vectors.ts';
import type { SearchMetrics } from './search-metrics.ts';
import type { Coverage, Explanation, Hit, Query, SearchOptions, Selection, ToolIndex } from './search/index.ts';

/** How tools are searched for: `config.optimizer`. */
export interface SearchSettings {
  readonly maxTools: number;
  /** 0 to 1. */
  readonly semanticRatio: number;
  /** 0 to 2. */
  readonly distanceThreshold: number;
}

export interface Searched {
  readonly hits: readonly Hit[];
  /** What has found them. */
  readonly search: 'keyword' | 'semantic' | 'hybrid';
  /** Why this is less than what is configured. */
  readonly degraded: Degraded | 'embeddings_incomplete' | 'embeddings_refused' | undefined;
  /** Names of tools and servers of a selection that are most like the query. */
  readonly nearest: (among: Selection, limit: number) => ReturnType<ToolIndex['nearest']>;
}

export interface SearchingDeps {
  readonly index: ToolIndex;
  readonly settings: () => SearchSettings;
  /** Undefined: no embedding service is configured. */
  readonly embedded: () => EmbeddedTools | undefined;
  readonly metrics: SearchMetrics;
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
}

export interface Searching {
  /** `asker` differs for callers who may not learn what the others search for. */
  readonly search: (text: string, among: Selection, asker: string) => Promise<Searched>;
  /** Why a search finds a tool or not; counts as no search. */
  readonly explain: (text: string, contentHash: string, among: Selection) => Promise<Explained>;
}

export interface Explained extends Explanation, Pick<Searched, 'search' | 'degraded'> {
  readonly limit: number;
  readonly distanceThreshold: number;
}

/** Searches as the configuration says, with what there is at this moment. */
export const searching = ({ index, settings, embedded, metrics, steadyNow }: SearchingDeps): Searching => {
  const planned = async (text: string, among: Selection, asker: string): Promise<Planned> => {
    const { maxTools: limit, semanticRatio: ratio, distanceThreshold } = settings();
    const service = ratio > 0 ? embedded() : undefined;
    const options = { among, limit, semanticRatio: 0, distanceThreshold };
    if (!service) return { query: { text }, options, search: 'keyword', degraded: undefined };
    const byWords = (degraded: Searched['degraded']): Planned => {
      return { query: { text }, options, search: 'keyword', degraded };
    };
    // Vectors of others are not asked about: what is said of this caller's tools depends on those alone.
    const before = index.coverageOf(among);
    if (before.embedded === 0) return byWords(service.isResting() ? 'embedding_service_unavailable' : lackOf(before));
    const answer = await service.vectorOf(text, asker);
    if ('degraded' in answer) return byWords(answer.degraded);
    const query = { text, vector: answer.vector };
    const coverage = index.coverageOf(among);
    if (coverage.embedded === 0 || !service.fits(answer.vector)) return byWords('embeddings_incomplete');
    const degraded = lackOf(coverage);
    const search = ratio === 1 && degraded === undefined ? 'semantic' : 'hybrid';
    return { query, options: { ...options, semanticRatio: ratio }, search, degraded };
  };
  return {
    search: async (text, among, asker) => {
      const from = steadyNow();
      const { query, options, search, degraded } = await planned(text, among, asker);
      const hits = index.search(query, options);
      metrics.searched({ search, degraded, results: hits.length, ms: steadyNow() - from });
      return { hits, search, degraded, nearest: (within, limit) => index.nearest(text, within, limit) };
    },
    explain: async (text, contentHash, among) => {
      const { query, options, search, degraded } = await planned(text, among, EXPLAINING);
      const { limit, distanceThreshold } = options;
      return { ...index.explain(query, contentHash, options), search, degraded, limit, distanceThreshold };
    },
  };
};

/** The asker of an explanation; no key of a caller. */
const EXPLAINING = 'explain';

interface Planned extends Pick<Searched, 'search' | 'degraded'> {
  readonly query: Query;
  readonly options: SearchOptions;
}

const lackOf = ({ missing, refused }: Coverage): Searched['degraded'] =>
  missing > 0 ? 'embeddings_incomplete' : refused > 0 ? 'embeddings_refused' : undefined;
