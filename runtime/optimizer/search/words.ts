import { stemmer } from 'stemmer';
import { lruCache } from '../../process/index.ts';

/** A run of letters and digits of a text, with the parts that a change of case shows in it. */
export interface Word {
  /** The run in lower case, without accents. */
  readonly text: string;
  /** Porter's stem of it. */
  readonly stem: string;
  /** Its parts, as of `createIssue`; empty where it has one part. */
  readonly parts: readonly Word[];
}

const RUNS = /[\p{L}\p{N}]+/gu;
const ASCII_RUNS = /[A-Za-z0-9]+/g;
const MARKS = /\p{M}+/gu;
const PARTS = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{N}]+|\p{Lu}+[\p{N}]*|[\p{L}\p{N}]+/gu;
const CASE_CHANGE = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u;
/** Runs of scripts that put no spaces between words. */
const WITHOUT_SPACES = new RegExp(
  `[${['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar'].map((script) => `\\p{Script=${script}}`).join('')}]+`,
  'gu',
);
const NOT_ASCII = /[^\p{ASCII}]/u;
/** Characters of a word that are read; what is longer is no word. */
const MAX_WORD = 40;
/** Of a run of several words in camel case, and the number of those. */
const MAX_RUN = 120;
const MAX_PARTS = 16;

/** The first words of a text in their order, `most` of them at most. */
export const wordsOf = (text: string, most = Infinity): readonly Word[] => wordsMadeBy(madeWord, text, most);

type MakeWord = (run: string) => Word;

const wordsMadeBy = (wordOf: MakeWord, text: string, most: number): readonly Word[] => {
  if (!NOT_ASCII.test(text)) return (text.match(ASCII_RUNS) ?? []).slice(0, most).map(wordOf);
  const folded = text.normalize('NFKD').replaceAll(MARKS, '').normalize('NFC');
  const runs = (folded.match(RUNS) ?? []).slice(0, most);
  return runs.flatMap((run) => (NOT_ASCII.test(run) ? wordsOfAnyScript(run, wordOf) : wordOf(run))).slice(0, most);
};

/** Of scripts without spaces each pair of neighbours is a word, which finds words inside of others, too. */
const wordsOfAnyScript = (run: string, wordOf: MakeWord): readonly Word[] => {
  const words: Word[] = [];
  let end = 0;
  for (const found of run.matchAll(WITHOUT_SPACES)) {
    if (found.index > end) words.push(wordOf(run.slice(end, found.index)));
    words.push(...pairsOf(Array.from(found[0])).map((pair) => ({ text: pair, stem: pair, parts: [] })));
    end = found.index + found[0].length;
  }
  if (end < run.length) words.push(wordOf(run.slice(end)));
  return words;
};

const pairsOf = (characters: readonly string[]): readonly string[] =>
  characters.length === 1 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`);

const madeWord: MakeWord = (run) => {
  const read = run.slice(0, MAX_RUN);
  const parts = CASE_CHANGE.test(read) ? (read.match(PARTS) ?? []).slice(0, MAX_PARTS) : [];
  return { ...plainWord(read), parts: parts.length > 1 ? parts.map(plainWord) : [] };
};

/** Words that tools have in common: about 8 MiB at most. */
const KNOWN_WORDS = { count: 20_000, bytes: 8 * 1024 * 1024 };

/** Bytes of a word or a part in memory, about. */
const WORD_BYTES = 300;

/**
 * `wordsOf` for texts of tools, where words repeat and are kept. Queries have no part in it: a caller could fill it,
 * and learn from the time of a search which words tools have.
 */
export const toolWords = (): ((text: string) => readonly Word[]) => {
  const known = lruCache<Word>(KNOWN_WORDS);
  const wordOf: MakeWord = (run) => {
    const read = run.slice(0, MAX_RUN);
    const word = known.get(read);
    if (word !== undefined) return word;
    // A run is a part of a text, which it must not keep in memory.
    const copy = Buffer.from(read).toString();
    const made = madeWord(copy);
    known.set(copy, made, WORD_BYTES * (1 + made.parts.length));
    return made;
  };
  return (text) => wordsMadeBy(wordOf, text, Infinity);
};

const plainWord = (run: string): Word => {
  const text = run.slice(0, MAX_WORD).toLowerCase();
  return { text, stem: stemOf(text), parts: [] };
};

/** Porter's stem of a word in lower case. */
export const stemOf = stemmer;
