import { Int } from './values.ts';

/** What a literal stands for, or why it stands for nothing. */
export type Literal<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const MAX_INT = 2n ** 63n - 1n;
const MIN_INT = -(2n ** 63n);

const INTEGER =
  /^([+-]?)(0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[oO]_?[0-7]+(?:_[0-7]+)*|0[bB]_?[01]+(?:_[01]+)*|0(?:_?[0-7])*|[1-9]\d*(?:_\d+)*)$/;
const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A number as Go writes constants: with a point or an exponent a float64, else an int. */
export const numberLiteral = (text: string): Literal<number | Int> => {
  const [, sign = '', digits] = INTEGER.exec(text) ?? [];
  if (digits !== undefined) return intOf(sign, digits.replaceAll('_', ''));
  // What looks like an integer and is none has a digit that is not octal after its leading zero.
  if (!FLOAT.test(text) || /^[+-]?\d+$/.test(text))
    return { ok: false, reason: `${JSON.stringify(text)} is no number` };
  const value = Number(text);
  return Number.isFinite(value) ? { ok: true, value } : { ok: false, reason: `${text} is too large for a number` };
};

const intOf = (sign: string, digits: string): Literal<Int> => {
  // A leading zero makes a number octal in Go.
  const size = BigInt(/^0\d/.test(digits) ? `0o${digits}` : digits);
  const value = sign === '-' ? -size : size;
  if (value > MAX_INT || value < MIN_INT) return { ok: false, reason: `${sign}${digits} overflows int` };
  return { ok: true, value: new Int(value) };
};

const NAMED: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
};

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([abfnrtv\\'"]))|\\|[^\\]+/g;

/** A quoted text with Go's escapes. `\x` and octal ones are bytes of UTF-8. */
export const stringLiteral = (quoted: string): Literal<string> => {
  const quote = quoted.charAt(0);
  if (quote === '`') return { ok: true, value: quoted.slice(1, -1).replaceAll('\r', '') };
  const pieces: Buffer[] = [];
  for (const [piece, hex, octal, short, long, named] of quoted.slice(1, -1).matchAll(ESCAPE)) {
    const byte =
      hex === undefined ? (octal === undefined ? undefined : Number.parseInt(octal, 8)) : Number.parseInt(hex, 16);
    const escaped = short ?? long;
    const point =
      named === undefined ? (escaped === undefined ? undefined : Number.parseInt(escaped, 16)) : NAMED[named];
    if (piece === '\\' || !isAllowed({ byte, point, named, quote }))
      return { ok: false, reason: 'an escape that Go does not know' };
    if (byte !== undefined) pieces.push(Buffer.of(byte));
    else pieces.push(Buffer.from(point === undefined ? piece : String.fromCodePoint(point)));
  }
  return { ok: true, value: Buffer.concat(pieces).toString('utf8') };
};

interface Escape {
  readonly byte: number | undefined;
  readonly point: number | undefined;
  readonly named: string | undefined;
  readonly quote: string;
}

const isAllowed = ({ byte = 0, point = 0, named, quote }: Escape): boolean => {
  if (byte > 255 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  return (named !== "'" && named !== '"') || named === quote;
};

/** `'a'` is an int, the character's code point. */
export const characterLiteral = (quoted: string): Literal<Int> => {
  const text = stringLiteral(quoted);
  if (!text.ok) return text;
  const [first, second] = text.value;
  const isOne = first !== undefined && second === undefined;
  return isOne ? { ok: true, value: new Int(first.codePointAt(0) ?? 0) } : { ok: false, reason: 'not one character' };
};
