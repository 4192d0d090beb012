import { isUtf8 } from 'node:buffer';
import { internedKey } from './interned-keys.ts';

/**
 * JSON as bytes: finds the spans of values without parsing them (RFC 8259). A gateway reads a few members of a message
 * and relays the rest untouched; parsing and printing again would lose big numbers, number spelling and member order.
 */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/** Half-open range of bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Deeper values are refused: no real message needs them and the reader recurses. */
const MAX_DEPTH = 500;
/** From this length on, a string is scanned 16 bytes at a time. */
const LONG_STRING_BYTES = 48;

const fail = (at: number): never => {
  throw new JsonSyntaxError(`not JSON at byte ${at}`);
};

/**
 * JSON is UTF-8 (RFC 8259 §8.1). The readers below do not check it: call this once for each text that arrives. Throws
 * JsonSyntaxError.
 */
export const checkEncoding = (bytes: Buffer): void => {
  if (!isUtf8(bytes)) throw new JsonSyntaxError('not UTF-8');
};

/** The first position at or after `at` that is not white space. */
export const skipSpace = (bytes: Buffer, at: number): number => {
  let i = at;
  for (;;) {
    const byte = bytes[i];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return i;
    i += 1;
  }
};

/** `at` is the opening quote; returns the position after the closing one. */
const skipString = (bytes: Buffer, at: number): number => {
  let i = at + 1;
  for (;;) {
    const loopEnd = i + LONG_STRING_BYTES;
    while (i < loopEnd && isPlain[bytes[i] ?? 0] === 1) i += 1;
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i = lastOfEscape(bytes, i + 1) + 1;
    else if (byte < 0x20) fail(i);
    else i = skipPlainWords(bytes, i);
  }
};

/** The bytes of a string that stand for themselves. */
const isPlain = new Uint8Array(256).fill(1, 0x20);
isPlain[QUOTE] = 0;
isPlain[BACKSLASH] = 0;

/** `at` follows a backslash; returns the position of the escape's last byte. */
const lastOfEscape = (bytes: Buffer, at: number): number => {
  const byte = bytes[at] ?? 0;
  if (byte === LETTER_U) {
    for (let i = at + 1; i <= at + 4; i += 1) if (!isHexDigit(bytes[i] ?? 0)) fail(i);
    return at + 4;
  }
  return isEscapable[byte] === 1 ? at : fail(at);
};

const LETTER_U = 0x75;
const isEscapable = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) isEscapable[byte] = 1;

const isHexDigit = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/**
 * A position at or after `from` before which there is no quote, backslash or control character: most of a long string,
 * 16 bytes at a time.
 */
const skipPlainWords = (bytes: Buffer, from: number): number => {
  const aligned = from + (-(bytes.byteOffset + from) & 3);
  for (let i = from; i < aligned; i += 1) if (isPlain[bytes[i] ?? 0] !== 1) return i;
  if (bytes.length - aligned < 16) return aligned;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, (bytes.length - aligned) >> 2);
  let at = 0;
  while (at < words.length - 3 && !isAnySpecial(words, at)) at += 4;
  return aligned + at * 4;
};

const HIGH_BITS = 0x80808080 | 0;

/**
 * Has a high bit set where one of the word's four bytes is special, and possibly in bytes above it: "Bit Twiddling
 * Hacks", `hasless` and
 * `haszero`. Inverting bit 1 puts the quote below 0x21, next to the control characters, and keeps all else above.
 */
const special = (word: number): number => {
  const low = word ^ 0x02020202;
  const backslash = word ^ 0x5c5c5c5c;
  // `| 0` keeps the differences in 32 bits, where the engine subtracts without a check.
  return (((low - 0x21212121) | 0) & ~low) | (((backslash - 0x01010101) | 0) & ~backslash);
};

/** One test for four words. */
const isAnySpecial = (words: Int32Array, at: number): boolean =>
  ((special(words[at] ?? 0) | special(words[at + 1] ?? 0) | special(words[at + 2] ?? 0) | special(words[at + 3] ?? 0)) &
    HIGH_BITS) !==
  0;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

const skipDigits = (bytes: Buffer, at: number): number => {
  let i = at;
  while (isDigit(bytes[i])) i += 1;
  return i === at ? fail(at) : i;
};

const skipNumber = (bytes: Buffer, at: number): number => {
  let i = bytes[at] === 0x2d ? at + 1 : at;
  i = bytes[i] === 0x30 ? i + 1 : skipDigits(bytes, i);
  if (bytes[i] === 0x2e) i = skipDigits(bytes, i + 1);
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    i += 1;
    if (bytes[i] === 0x2b || bytes[i] === 0x2d) i += 1;
    i = skipDigits(bytes, i);
  }
  return i;
};

const literals = ['true', 'false', 'null'] as const;

const skipLiteral = (bytes: Buffer, at: number): number => {
  for (const literal of literals) {
    if (bytes[at] === literal.charCodeAt(0)) {
      return bytes.toString('latin1', at, at + literal.length) === literal ? at + literal.length : fail(at);
    }
  }
  return fail(at);
};

/** `at` is the first byte of a value; returns the position after it. Throws JsonSyntaxError. */
export const skipValue = (bytes: Buffer, at: number, depth = 0): number => {
  const byte = bytes[at];
  if (byte === QUOTE) return skipString(bytes, at);
  if (byte === OPEN_BRACE) return skipObject(bytes, at, depth + 1);
  if (byte === OPEN_BRACKET) return skipArray(bytes, at, depth + 1);
  return byte === 0x2d || isDigit(byte) ? skipNumber(bytes, at) : skipLiteral(bytes, at);
};

const skipObject = (bytes: Buffer, at: number, depth: number): number => {
  if (depth > MAX_DEPTH) return fail(at);
  let i = skipSpace(bytes, at + 1);
  if (bytes[i] === CLOSE_BRACE) return i + 1;
  for (;;) {
    if (bytes[i] !== QUOTE) return fail(i);
    i = skipSpace(bytes, skipString(bytes, i));
    if (bytes[i] !== COLON) return fail(i);
    i = skipSpace(bytes, skipValue(bytes, skipSpace(bytes, i + 1), depth));
    if (bytes[i] === CLOSE_BRACE) return i + 1;
    if (bytes[i] !== COMMA) return fail(i);
    i = skipSpace(bytes, i + 1);
  }
};

const skipArray = (bytes: Buffer, at: number, depth: number): number => {
  if (depth > MAX_DEPTH) return fail(at);
  let i = skipSpace(bytes, at + 1);
  if (bytes[i] === CLOSE_BRACKET) return i + 1;
  for (;;) {
    i = skipSpace(bytes, skipValue(bytes, i, depth));
    if (bytes[i] === CLOSE_BRACKET) return i + 1;
    if (bytes[i] !== COMMA) return fail(i);
    i = skipSpace(bytes, i + 1);
  }
};

/**
 * Reads the object at `at`. `member` gets where each key begins (its quote) and ends, and where its value begins, and
 * returns where the value ends (`skipValue`, or a reader of its own). Returns the position after the object. Allocates
 * nothing per member, since the sender determines how many there are.
 */
export const walkObject = (
  bytes: Buffer,
  at: number,
  member: (keyAt: number, keyEnd: number, valueAt: number) => number,
): number => {
  if (bytes[at] !== OPEN_BRACE) return fail(at);
  let i = skipSpace(bytes, at + 1);
  if (bytes[i] === CLOSE_BRACE) return i + 1;
  for (;;) {
    if (bytes[i] !== QUOTE) return fail(i);
    const keyAt = i;
    const keyEnd = skipString(bytes, i);
    i = skipSpace(bytes, keyEnd);
    if (bytes[i] !== COLON) return fail(i);
    i = skipSpace(bytes, member(keyAt, keyEnd, skipSpace(bytes, i + 1)));
    if (bytes[i] === CLOSE_BRACE) return i + 1;
    if (bytes[i] !== COMMA) return fail(i);
    i = skipSpace(bytes, i + 1);
  }
};

/** The same with each key decoded, for objects whose number of members is bounded. */
export const readObject = (bytes: Buffer, at: number, member: (key: string, valueAt: number) => number): number =>
  walkObject(bytes, at, (keyAt, keyEnd, valueAt) =>
    member(internedKey(bytes, keyAt, keyEnd) ?? readString(bytes, { start: keyAt, end: keyEnd }), valueAt),
  );

/** Reads the array at `at`; `item` gets where an item begins and returns where it ends. */
export const readArray = (bytes: Buffer, at: number, item: (valueAt: number) => number): number => {
  if (bytes[at] !== OPEN_BRACKET) return fail(at);
  let i = skipSpace(bytes, at + 1);
  if (bytes[i] === CLOSE_BRACKET) return i + 1;
  for (;;) {
    i = skipSpace(bytes, item(i));
    if (bytes[i] === CLOSE_BRACKET) return i + 1;
    if (bytes[i] !== COMMA) return fail(i);
    i = skipSpace(bytes, i + 1);
  }
};

/** The text of the string at `span` (quotes included in the span). Throws JsonSyntaxError when it is not a string. */
export const readString = (bytes: Buffer, span: Span): string => {
  if (bytes[span.start] !== QUOTE) return fail(span.start);
  const text = bytes.toString('utf8', span.start + 1, span.end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return fail(span.start);
  }
};

export const isString = (bytes: Buffer, span: Span): boolean => bytes[span.start] === QUOTE;

export const isNumber = (bytes: Buffer, { start }: Span): boolean => bytes[start] === 0x2d || isDigit(bytes[start]);

export const isObject = (bytes: Buffer, at: number): boolean => bytes[at] === OPEN_BRACE;

/** `at` is the opening brace. */
export const isEmptyObject = (bytes: Buffer, at: number): boolean => bytes[skipSpace(bytes, at + 1)] === CLOSE_BRACE;

export const isArray = (bytes: Buffer, at: number): boolean => bytes[at] === OPEN_BRACKET;

/** The bytes of `span` replaced; everything around them as it was. */
export const splice = (bytes: Buffer, span: Span, replacement: Buffer): Buffer => {
  const out = Buffer.allocUnsafe(bytes.length - (span.end - span.start) + replacement.length);
  bytes.copy(out, 0, 0, span.start);
  replacement.copy(out, span.start);
  bytes.copy(out, span.start + replacement.length, span.end);
  return out;
};
