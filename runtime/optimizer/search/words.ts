import { stemmer } from 'stemmer';

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

/** The words of a text in their order. */
export const wordsOf = (text: string): readonly Word[] => {
  if (!NOT_ASCII.test(text)) return (text.match(ASCII_RUNS) ?? []).map(wordOf);
  const folded = text.normalize('NFKD').replaceAll(MARKS, '').normalize('NFC');
  return (folded.match(RUNS) ?? []).flatMap((run) => (NOT_ASCII.test(run) ? wordsOfAnyScript(run) : wordOf(run)));
};

/** Of scripts without spaces each pair of neighbours is a word, which finds words inside of others, too. */
const wordsOfAnyScript = (run: string): readonly Word[] => {
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

/** Words repeat, so many are kept. */
const known = new Map<string, Word>();
const MAX_KNOWN = 20_000;

const wordOf = (run: string): Word => {
  const word = known.get(run);
  if (word !== undefined) return word;
  const parts = CASE_CHANGE.test(run) ? (run.match(PARTS) ?? []) : [];
  const made = { ...plainWord(run), parts: parts.length > 1 ? parts.map(plainWord) : [] };
  if (known.size >= MAX_KNOWN) known.clear();
  // A run is a part of a text, which it must not keep in memory.
  known.set(Buffer.from(run).toString(), made);
  return made;
};

const plainWord = (run: string): Word => {
  const text = run.slice(0, MAX_WORD).toLowerCase();
  return { text, stem: stemOf(text), parts: [] };
};

/** Porter's stem of a word in lower case. */
export const stemOf = stemmer;
