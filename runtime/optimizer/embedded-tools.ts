import type { GuardedClient } from '../http/index.ts';
import type { Log } from '../observe/index.ts';
import type { Clock } from '../process/index.ts';
import type { EmbeddingServiceSettings } from './embeddings/embedding-client.ts';
import { EmbeddingService, type EmbeddingServiceDeps } from './embeddings/embedding-service.ts';
import { EmbedTools, type EmbedToolsDeps } from './embeddings/embed-tools.ts';
import { QueryVectors, type QueryVectorsDeps } from './embeddings/query-vectors.ts';
import type { VectorCache } from './embeddings/vector-cache.ts';
import type { ToolIndex } from './search/index.ts';

export interface EmbeddedToolsDeps
  extends
    Omit<EmbeddingServiceDeps, 'fetch' | 'clock' | 'log' | 'knownProbe'>,
    Pick<EmbedToolsDeps, 'onVector'>,
    Pick<QueryVectorsDeps, 'mostMs'> {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly client: GuardedClient;
  readonly index: ToolIndex;
  readonly cache: VectorCache;
}

/** The vectors of tools and queries, from one embedding service. */
export interface EmbeddedTools {
  /** There may be tools without vectors. */
  readonly note: () => void;
  readonly vectorOf: QueryVectors['vectorOf'];
  /** Whether the service has failed, and is left alone for a while. */
  readonly isResting: () => boolean;
  /** Whether the vector can be compared with those of the tools. */
  readonly fits: (vector: Float32Array) => boolean;
  readonly end: () => Promise<void>;
}

export const embeddedTools = (settings: EmbeddingServiceSettings, deps: EmbeddedToolsDeps): EmbeddedTools => {
  const { index, cache, client } = deps;
  const service = new EmbeddingService(settings, {
    ...deps,
    fetch: client.fetch,
    knownProbe: (...of) => cache.knownProbe(...of),
  });
  const tools = new EmbedTools({
    ...deps,
    service,
    cache,
    missing: () => index.missingVectors(),
    textOf: (hash) => index.embeddingTextOf(hash),
    setVector: (hash, vector) => index.setVector(hash, vector),
    setRefused: (hash) => index.setRefused(hash),
    dropVectors: () => index.clearVectors(),
  });
  const queries = new QueryVectors({ ...deps, service, onConnected: (connected) => tools.use(connected) });
  return {
    note: () => tools.note(),
    vectorOf: (text, asker) => queries.vectorOf(text, asker),
    isResting: () => service.resting !== undefined,
    fits: ({ length }) => length === index.dimensions,
    end: async () => {
      tools.end();
      index.clearVectors();
      await client.close();
    },
  };
};
