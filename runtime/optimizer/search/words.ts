import { stemmer } from 'stemmer';

/** A run of letters and digits of a text, with the parts that a change of case shows in it. */
export interface Word {
  /** The run in lower case, without accents. */
  readonly text: string;
  readonly stem: string;
  /** Its parts, as of `createIssue`; empty where it has one part. */
  readonly parts: readonly Word[];
}

const RUNS = /[\p{L}\p{N}]+/gu;
const MARKS = /\p{M}+/gu;
const PARTS = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{N}]+|\p{Lu}+[\p{N}]*|[\p{L}\p{N}]+/gu;
const CASE_CHANGE = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u;
/** Scripts that put no spaces between words. */
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const NOT_ASCII = /[^\p{ASCII}]/u;
/** Characters of a word that are read; what is longer is no word. */
const MAX_WORD = 40;

/** The words of a text in their order. */
export const wordsOf = (text: string): readonly Word[] => {
  const folded = NOT_ASCII.test(text) ? text.normalize('NFKD').replaceAll(MARKS, '').normalize('NFC') : text;
  const words: Word[] = [];
  for (const [run] of folded.matchAll(RUNS)) {
    if (!NOT_ASCII.test(run)) words.push(wordOf(run));
    else words.push(...wordsOfAnyScript(run));
  }
  return words;
};

const wordOf = (run: string): Word => {
  const parts = CASE_CHANGE.test(run) ? (run.match(PARTS) ?? []) : [];
  return { ...plainWord(run), parts: parts.length > 1 ? parts.map(plainWord) : [] };
};

const plainWord = (run: string): Word => {
  const text = run.slice(0, MAX_WORD).toLowerCase();
  return { text, stem: stemOf(text), parts: [] };
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

const stems = new Map<string, string>();
const MAX_STEMS = 20_000;

/** Porter's stem of a word in lower case; words repeat, so the stems of many are kept. */
export const stemOf = (word: string): string => {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = stemmer(word);
  if (stems.size >= MAX_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
};
