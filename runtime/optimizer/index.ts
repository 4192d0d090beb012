/**
 * Two tools in place of all others: `find_tool` searches what a caller is offered, `call_tool` calls what was found.
 * Whatever they reach is admitted under its own name. Start at `optimizer.ts`; `search/` ranks and does nothing else,
 * `embeddings/` asks the embedding service.
 */

export { type EmbeddedTools, embeddedTools } from './embedded-tools.ts';
export type { EmbeddingServiceSettings } from './embeddings/embedding-client.ts';
export { embeddingFetch } from './embeddings/embedding-fetch.ts';
export { VectorCache } from './embeddings/vector-cache.ts';
export { type Optimizer, optimizer } from './optimizer.ts';
export { searchMetrics } from './search-metrics.ts';
export { type Explained, type SearchSettings } from './searching.ts';
export { ToolIndex } from './search/index.ts';
