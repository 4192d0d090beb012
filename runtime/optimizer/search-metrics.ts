import { type Meter, STEP_SECONDS } from '../observe/index.ts';
import type { EmbeddingServiceDeps } from './embeddings/embedding-service.ts';
import type { VectorSource } from './embeddings/vector-cache.ts';

/** What is measured of searches. */
export interface SearchMetrics {
  readonly searched: (of: {
    readonly search: string;
    readonly degraded: string | undefined;
    readonly results: number;
    readonly ms: number;
  }) => void;
  /** `call_tool` was asked for a name that the caller is not offered. */
  readonly unknownTool: () => void;
  readonly embeddingAsked: EmbeddingServiceDeps['onAsked'];
  readonly vectorFound: (from: VectorSource | 'service') => void;
}

export interface IndexSize {
  readonly tools: () => number;
  readonly vectors: () => number;
  readonly refused: () => number;
}

const RESULTS = [0, 1, 2, 4, 8, 16, 32, 50] as const;

export const searchMetrics = (meter: Meter, size: IndexSize): SearchMetrics => {
  const searches = meter.counter({
    name: 'vmcp.optimizer.searches',
    help: 'Searches of find_tool.',
    labels: ['vmcp.optimizer.search', 'vmcp.optimizer.degraded', 'vmcp.optimizer.outcome'],
  });
  const results = meter.histogram({
    name: 'vmcp.optimizer.search.results',
    help: 'Tools in an answer of find_tool.',
    buckets: RESULTS,
  });
  const duration = meter.histogram({
    name: 'vmcp.optimizer.search.duration',
    help: 'Duration of a search, with the time that it waits for the vector of its query.',
    unit: 's',
    labels: ['vmcp.optimizer.search'],
    buckets: STEP_SECONDS,
  });
  const unknown = meter.counter({
    name: 'vmcp.optimizer.unknown.tools',
    help: 'Calls of call_tool for a name that the caller is not offered.',
  });
  const asked = meter.histogram({
    name: 'vmcp.optimizer.embedding.duration',
    help: 'Requests to the embedding service.',
    unit: 's',
    labels: ['vmcp.optimizer.texts', 'vmcp.optimizer.embedding.outcome'],
    buckets: STEP_SECONDS,
  });
  const vectors = meter.counter({
    name: 'vmcp.optimizer.vectors',
    help: 'Vectors of tools, by where they came from.',
    labels: ['vmcp.optimizer.vector.source'],
  });
  meter.gauge({ name: 'vmcp.optimizer.index.tools', help: 'Tools that can be searched for.' }, size.tools);
  meter.gauge({ name: 'vmcp.optimizer.index.vectors', help: 'Tools with a vector.' }, size.vectors);
  const refused = 'Tools that have no vector, as the embedding service refuses their text.';
  meter.gauge({ name: 'vmcp.optimizer.index.refused', help: refused }, size.refused);
  return {
    searched: ({ search, degraded, results: count, ms }) => {
      searches({
        'vmcp.optimizer.search': search,
        'vmcp.optimizer.degraded': degraded,
        'vmcp.optimizer.outcome': count > 0 ? 'found' : 'nothing_found',
      });
      results(count, {});
      duration(ms / 1_000, { 'vmcp.optimizer.search': search });
    },
    unknownTool: () => unknown({}),
    embeddingAsked: ({ of, outcome, ms }) =>
      asked(ms / 1_000, { 'vmcp.optimizer.texts': of, 'vmcp.optimizer.embedding.outcome': outcome }),
    vectorFound: (from) => vectors({ 'vmcp.optimizer.vector.source': from }),
  };
};
