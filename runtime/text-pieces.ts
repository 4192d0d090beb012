import { splice, type Span } from './json-bytes.ts';

/** Text to be sent: whole, or in pieces that follow one another. */
export type SentText = Buffer | readonly Buffer[];

/** Shorter pieces are joined: each costs a write of its own. */
const SHORT_BYTES = 32 * 1024;

/**
 * Pieces as one text where all of it is short. Otherwise the long ones stay as they lie in memory: a copy would cost more than a write, and leave
 * garbage beside the heap, which brings about full collections.
 */
export const joined = (pieces: readonly Buffer[]): SentText => {
  const bytes = lengthOf(pieces);
  if (bytes <= SHORT_BYTES) return Buffer.concat(pieces, bytes);
  const text: Buffer[] = [];
  let short: Buffer[] = [];
  const joinShort = (): void => {
    if (short.length > 0) text.push(short.length === 1 && short[0] ? short[0] : Buffer.concat(short));
    short = [];
  };
  for (const piece of pieces) {
    if (piece.length <= SHORT_BYTES) {
      short.push(piece);
      continue;
    }
    joinShort();
    text.push(piece);
  }
  joinShort();
  return text;
};

/** One range of bytes replaced; everything around it as it was. */
export const spliced = (bytes: Buffer, span: Span, replacement: Buffer): SentText =>
  bytes.length <= SHORT_BYTES
    ? splice(bytes, span, replacement)
    : joined([bytes.subarray(0, span.start), replacement, bytes.subarray(span.end)]);

/** In bytes. */
export const lengthOf = (text: SentText): number =>
  Buffer.isBuffer(text) ? text.length : text.reduce((bytes, piece) => bytes + piece.length, 0);

export const wholeOf = (text: SentText): Buffer => (Buffer.isBuffer(text) ? text : Buffer.concat(text));
