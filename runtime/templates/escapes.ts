/** Letters, marks, numbers, punctuation, symbols, and of all spaces the ASCII one, as Go's unicode.IsPrint. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

export const isPrintable = (character: string): boolean => PRINTABLE.test(character);

interface Quoting {
  /** Whether whatever is not ASCII is escaped, too. */
  readonly isAscii: boolean;
}

/** A Go string literal in double quotes. */
export const quotedText = (text: string, quoting: Quoting): string => `"${escaped(text, '"', quoting)}"`;

/** A Go character literal. */
export const quotedCharacter = (character: string, quoting: Quoting): string => `'${escaped(character, "'", quoting)}'`;

const NAMED: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

const NEEDS_NO_ESCAPE = /^[\w !#$%&()*+,./:;<=>?@[\]^`{|}~-]*$/;

const escaped = (text: string, quote: string, { isAscii }: Quoting): string => {
  if (NEEDS_NO_ESCAPE.test(text)) return text;
  let result = '';
  for (const character of text.toWellFormed()) {
    const point = character.codePointAt(0) ?? 0;
    if (character === quote) result += `\\${quote}`;
    else if (Object.hasOwn(NAMED, character)) result += NAMED[character];
    else if (point < 0x80 ? point >= 0x20 && point < 0x7f : !isAscii && isPrintable(character)) result += character;
    else result += escapedPoint(point);
  }
  return result;
};

const escapedPoint = (point: number): string => {
  const hex = point.toString(16);
  if (point < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
};

const HTML: Readonly<Record<string, string>> = {
  '\0': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

export const escapedHtml = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- NUL is one of the characters that HTML cannot hold.
  text.replaceAll(/[\0"'&<>]/g, (character) => HTML[character] ?? '');

const SCRIPT: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
};

/** Fit for a JavaScript string literal. */
export const escapedScript = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- Control characters are what has to be escaped.
  text.toWellFormed().replaceAll(/[\\'"<>&=\u0000-\u001f]|[^\u0000-\u007f]/gu, (character) => {
    const known = SCRIPT[character];
    if (known !== undefined) return known;
    if (character > '\u007f' && isPrintable(character)) return character;
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  });

/** Fit for the query of a URL. */
export const escapedQuery = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(/%20|[!'()*]/g, (found) =>
    found === '%20' ? '+' : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
