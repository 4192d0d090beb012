import type { ToolText } from './tool-text.ts';
import { stemOf, type Word } from './words.ts';

interface Place {
  readonly of: keyof ToolText;
  /** How much one occurrence of a word counts. */
  readonly weight: number;
  /** Words that such a text usually has. A constant, since an average would be taken over hidden tools as well. */
  readonly usualLength: number;
  /** How much longer texts are held against it: 0 not at all, 1 in proportion. */
  readonly lengthPenalty: number;
}

const PLACES: readonly Place[] = [
  { of: 'name', weight: 3, usualLength: 4, lengthPenalty: 0.5 },
  { of: 'title', weight: 5, usualLength: 4, lengthPenalty: 0.75 },
  { of: 'summary', weight: 2, usualLength: 10, lengthPenalty: 0.35 },
  { of: 'description', weight: 0.7, usualLength: 30, lengthPenalty: 0.6 },
  { of: 'parameterNames', weight: 0.8, usualLength: 8, lengthPenalty: 0.6 },
  { of: 'parameterDescriptions', weight: 0.3, usualLength: 40, lengthPenalty: 0.7 },
  { of: 'server', weight: 2, usualLength: 1, lengthPenalty: 0 },
];

/** How soon further occurrences stop to count: k1 of BM25. */
const SATURATION = 1.2;

/**
 * Each term of a tool with its weight there, between 0 and 1: BM25F's saturated frequency over the weighted fields
 * (Robertson, Zaragoza: The Probabilistic Relevance Framework, section 3.6). It depends on this tool alone.
 */
export const termWeightsOf = (
  text: ToolText,
  wordsOf: (text: string) => readonly Word[],
): ReadonlyMap<string, number> => {
  const frequencies = new Map<string, number>();
  for (const { of, weight, usualLength, lengthPenalty } of PLACES) {
    const words = wordsOf(text[of]);
    const length = 1 - lengthPenalty + (lengthPenalty * words.length) / usualLength;
    const count = (term: string, share: number): void => {
      frequencies.set(term, (frequencies.get(term) ?? 0) + (share * weight) / length);
    };
    for (const word of words) {
      count(word.stem, 1);
      for (const part of word.parts) count(part.stem, 1);
    }
    if (of === 'name') for (const compound of compoundsOf(words)) count(compound, 1);
  }
  return new Map([...frequencies].map(([term, frequency]) => [term, frequency / (SATURATION + frequency)]));
};

/** Stems of neighbours written as one word: `work_item` is found by `workitem`, too. */
export const compoundsOf = (words: readonly Word[]): readonly string[] => {
  const parts = words.flatMap((word) => (word.parts.length > 0 ? word.parts : [word]));
  return parts.slice(1).map((next, index) => stemOf(`${parts[index]?.text ?? ''}${next.text}`));
};
