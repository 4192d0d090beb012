import { compoundsOf } from './document-terms.ts';
import type { Selection } from './selection.ts';
import type { SimilarWord } from './similar-words.ts';
import { synonymsOf } from './synonyms.ts';
import { type Word, wordsOf } from './words.ts';

export interface Alternative {
  readonly term: string;
  /** 1 for the word itself. */
  readonly weight: number;
}

/** One thing that is sought: terms any of which stands for it. */
export interface Concept {
  readonly alternatives: readonly Alternative[];
}

/** Which terms there are, as far as the caller sees. */
export interface Vocabulary {
  readonly has: (term: string, selection: Selection) => boolean;
  readonly similarTo: (term: string, limit: number, selection: Selection) => readonly SimilarWord[];
}

/** Words of a query that are read; a model may write pages. */
const MAX_WORDS = 64;
const MAX_SIMILAR = 3;
const SYNONYM_WEIGHT = 0.75;
/** Parts of a word in camel case, and neighbours written as one. */
const PART_WEIGHT = 0.5;
const SIMILAR_WEIGHT = 0.4;

/** Words of questions and requests, which say nothing about a tool. */
const STOP_WORDS = new Set(
  (
    'a an the this that these those it its is are was be been am do does did has have had i me my we us our you your ' +
    'he she they them their of in on at to for from by with about into as and or but not if then so than too very can ' +
    'could should would will shall may might must need needs want wants like please help tool tools function using ' +
    'use used which what whom whose when why how there here some any all just let lets'
  ).split(' '),
);
/** What a query seeks, as far as tools of the selection can have it. */
export const conceptsOf = (query: string, vocabulary: Vocabulary, selection: Selection): readonly Concept[] => {
  const words = wordsOf(query, MAX_WORDS);
  const telling = words.filter(({ text }) => !STOP_WORDS.has(text));
  const read = telling.length > 0 ? telling : words;
  const seen = new Set<string>();
  const isNew = (term: string): boolean => !seen.has(term) && seen.add(term).has(term);
  const ofWords = read.filter(({ stem }) => isNew(stem)).map((word) => conceptOf(word, vocabulary, selection));
  const ofCompounds = compoundsOf(read)
    .filter((compound) => isNew(compound) && vocabulary.has(compound, selection))
    .map((term) => ({ alternatives: [{ term, weight: PART_WEIGHT }] }));
  return [...ofWords, ...ofCompounds];
};

const conceptOf = (word: Word, vocabulary: Vocabulary, selection: Selection): Concept => {
  const alternatives = [{ term: word.stem, weight: 1 }];
  for (const part of word.parts) alternatives.push({ term: part.stem, weight: PART_WEIGHT });
  for (const term of synonymsOf(word.stem)) alternatives.push({ term, weight: SYNONYM_WEIGHT });
  if (!alternatives.some(({ term }) => vocabulary.has(term, selection))) {
    for (const { word: term, similarity } of vocabulary.similarTo(word.stem, MAX_SIMILAR, selection))
      alternatives.push({ term, weight: SIMILAR_WEIGHT * similarity });
  }
  return { alternatives };
};
