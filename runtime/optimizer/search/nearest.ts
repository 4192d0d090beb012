import { best } from './best.ts';
import { similarityOf, trigramsOf } from './similar-words.ts';
import type { SearchableTool } from './tool-text.ts';

/** What is offered when nothing was found. */
export interface Nearest {
  /** Names of tools, the most similar one first. */
  readonly names: readonly string[];
  readonly servers: readonly string[];
}

interface Candidate {
  readonly text: string;
  readonly similarity: number;
}

/** The names most similar to the words of a query, of these tools and their servers, however little that is. */
export const nearestOf = (query: string, tools: readonly SearchableTool[], limit: number): Nearest => {
  const sought = trigramsOf(spoken(query));
  const nearest = (texts: readonly string[]): readonly string[] => {
    const candidates = [...new Set(texts)].map((text) => ({
      text,
      similarity: similarityOf(sought, trigramsOf(spoken(text))),
    }));
    return best(candidates, limit, isBefore).map(({ text }) => text);
  };
  return {
    names: nearest(tools.map(({ name }) => name)),
    servers: nearest(tools.flatMap(({ server }) => server ?? [])),
  };
};

const spoken = (text: string): string =>
  text
    .slice(0, 200)
    .toLowerCase()
    .replaceAll(/[\s_.\-/:]+/g, ' ');

const isBefore = (a: Candidate, b: Candidate): boolean =>
  a.similarity === b.similarity ? a.text < b.text : a.similarity > b.similarity;
