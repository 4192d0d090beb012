import { splice, type Span } from './bytes.ts';

/** Text in pieces that follow one another. */
export interface Pieces {
  readonly pieces: readonly Buffer[];
  /** Total bytes of the pieces. */
  readonly bytes: number;
}

/** Text to be sent. Long texts come in pieces; `wholeOf` and `lengthOf` read both kinds. */
export type SentText = Buffer | Pieces;

/** Shorter texts are joined, since each piece costs a write. */
const SHORT_BYTES = 32 * 1024;

/**
 * Pieces as one text where all of it is short. Otherwise long pieces are not copied: a copy would cost more than a
 * write, and its garbage outside the heap causes full collections.
 */
export const joined = (all: readonly Buffer[]): SentText => {
  const bytes = all.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes <= SHORT_BYTES) return Buffer.concat(all, bytes);
  const pieces: Buffer[] = [];
  let short: Buffer[] = [];
  const joinShort = (): void => {
    if (short.length > 0) pieces.push(short.length === 1 && short[0] ? short[0] : Buffer.concat(short));
    short = [];
  };
  for (const piece of all) {
    if (piece.length <= SHORT_BYTES) {
      short.push(piece);
      continue;
    }
    joinShort();
    pieces.push(piece);
  }
  joinShort();
  return { pieces, bytes };
};

/** One range of bytes replaced; everything around it as it was. */
export const spliced = (bytes: Buffer, span: Span, replacement: Buffer): SentText =>
  bytes.length <= SHORT_BYTES
    ? splice(bytes, span, replacement)
    : joined([bytes.subarray(0, span.start), replacement, bytes.subarray(span.end)]);

/** Length in bytes. */
export const lengthOf = (text: SentText): number => ('pieces' in text ? text.bytes : text.length);

/** Copies pieces. */
export const wholeOf = (text: SentText): Buffer => ('pieces' in text ? Buffer.concat(text.pieces, text.bytes) : text);
