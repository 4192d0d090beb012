import { nextTurn } from '../../process/index.ts';
import { EmbeddingError } from './embedding-error.ts';

/** An answer whose arrays of numbers were read apart. */
export interface SplitAnswer {
  /** The answer as JSON, with `[i]` in place of the array of numbers that is `vectors[i]`. */
  readonly rest: unknown;
  /** Finite numbers, as 32-bit floats. */
  readonly vectors: readonly Float32Array[];
}

/**
 * What tells arrays from text: an escaped character, a quotation mark, or an array that holds nothing but numbers,
 * roughly: what is none in JSON is refused where it is read.
 */
const TOKEN = /\\[^]|"|\[[0-9+\-.eE,\s]*\]/g;

/** Characters that are read between two turns of the event loop: about 6,000 numbers, half a millisecond. */
const AT_ONCE = 65_536;

/** Characters of one array, which is read at once: as many numbers as a model has dimensions, of 32 characters each. */
const MOST_CHARACTERS = 8_192 * 32;

/**
 * Reads an answer that is little else than vectors: a batch is a megabyte of numbers, and input is read in between.
 * Throws EmbeddingError where it is not JSON, has more than `most` arrays of numbers, one that is longer than a vector
 * can be, or a number that is not finite.
 */
export const splitAnswer = async (text: string, most: number): Promise<SplitAnswer> => {
  const vectors: Float32Array[] = [];
  let rest = '';
  let [end, paused] = [0, 0];
  let isInString = false;
  for (const { 0: found, index } of text.matchAll(TOKEN)) {
    if (found === '"') isInString = !isInString;
    if (isInString || !found.startsWith('[')) continue;
    if (vectors.length === most) throw invalid('has more arrays of numbers than vectors were asked for');
    if (found.length > MOST_CHARACTERS) throw invalid('has a vector that is too long');
    rest += `${text.slice(end, index)}[${vectors.length}]`;
    vectors.push(floatsIn(found));
    end = index + found.length;
    if (end - paused < AT_ONCE) continue;
    paused = end;
    await nextTurn();
  }
  return { rest: parsed(rest + text.slice(end)), vectors };
};

const floatsIn = (text: string): Float32Array => {
  const numbers = parsed(text) as readonly number[];
  const floats = new Float32Array(numbers.length);
  for (let at = 0; at < floats.length; at += 1) {
    floats[at] = numbers[at] ?? NaN;
    if (!Number.isFinite(floats[at])) throw invalid('has numbers that are not finite');
  }
  return floats;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('is not JSON');
  }
};

const invalid = (what: string): EmbeddingError =>
  new EmbeddingError('invalid', `the answer of the embedding service ${what}`);
