const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/**
 * Whether the string at `at` (its opening quote) equals `text`, however it is escaped. `text` is ASCII without quotes.
 * Allocates no string.
 */
export const isText = (bytes: Buffer, at: number, text: string): boolean => {
  const end = behind(bytes, at, text);
  return end !== -1 && bytes[end] === QUOTE;
};

/** The same for the beginning of the string. */
export const beginsWith = (bytes: Buffer, at: number, text: string): boolean => behind(bytes, at, text) !== -1;

/**
 * The position behind what spells `text` at the beginning of the string at `at`, which was read before; -1 when it
 * begins otherwise.
 */
const behind = (bytes: Buffer, at: number, text: string): number => {
  if (bytes[at] !== QUOTE) return -1;
  let i = at + 1;
  for (let place = 0; place < text.length; place += 1) {
    const byte = bytes[i] ?? 0;
    const isEscape = byte === BACKSLASH;
    if ((isEscape ? escaped(bytes, i + 1) : byte) !== text.charCodeAt(place)) return -1;
    if (!isEscape) i += 1;
    else i += bytes[i + 1] === LETTER_U ? 6 : 2;
  }
  return i;
};

/**
 * The character of the escape whose letter is at `at`; of the short escapes only the slash, as no text here needs
 * another.
 */
const escaped = (bytes: Buffer, at: number): number => {
  if (bytes[at] !== LETTER_U) return bytes[at] === SLASH ? SLASH : -1;
  let code = 0;
  for (let i = at + 1; i <= at + 4; i += 1) code = code * 16 + hexDigit(bytes[i] ?? 0);
  return code;
};

const SLASH = 0x2f;

const hexDigit = (byte: number): number => (byte & 0x0f) + (byte > 0x39 ? 9 : 0);
