import { isArray, isObject, JsonSyntaxError, readArray, readObject, skipSpace, skipValue } from './bytes.ts';

/** An object has two members of one name, of which readers take either (RFC 8259 §4). */
export class RepeatedNameError extends Error {
  override readonly name = 'RepeatedNameError';
}

/** Deeper texts are refused: the reader recurses. */
const MAX_DEPTH = 32;

/**
 * Checks a whole JSON text in which no object, at any depth, may have two members of one name, however these are
 * escaped. Throws RepeatedNameError, and JsonSyntaxError for what is no JSON or nested too deeply. Allocates a text for
 * each name, so `bytes` has to be short.
 */
export const checkUniqueNames = (bytes: Buffer): void => {
  const end = skipSpace(bytes, valueAt(bytes, skipSpace(bytes, 0), 0));
  if (end !== bytes.length) throw new JsonSyntaxError(`not JSON at byte ${end}`);
};

const valueAt = (bytes: Buffer, at: number, depth: number): number => {
  if (depth > MAX_DEPTH) throw new JsonSyntaxError(`nested too deeply at byte ${at}`);
  if (isArray(bytes, at)) return readArray(bytes, at, (itemAt) => valueAt(bytes, itemAt, depth + 1));
  if (!isObject(bytes, at)) return skipValue(bytes, at);
  const names = new Set<string>();
  return readObject(bytes, at, (name, memberAt) => {
    if (names.has(name)) throw new RepeatedNameError('a member is given twice');
    names.add(name);
    return valueAt(bytes, memberAt, depth + 1);
  });
};
