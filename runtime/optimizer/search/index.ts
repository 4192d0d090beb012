/**
 * Which tools fit a question: by keywords, by meaning, or both. Pure: embeddings are made elsewhere. Start at
 * `tool-index.ts`.
 */

export type { Nearest } from './nearest.ts';
export type { Selection } from './selection.ts';
export { contentHashOf, embeddingTextOf, type SearchableTool } from './tool-text.ts';
export { type Coverage, type Explanation, type Hit, type Query, type SearchOptions, ToolIndex } from './tool-index.ts';
