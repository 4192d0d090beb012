import { GrowableBuffer } from '../../runtime/http/index.ts';

const LF = 0x0a;
const CR = 0x0d;

/** What of a line that is too long is kept of either end: enough to tell whose it is. */
const KEPT_BYTES = 256;

export interface LineListener {
  /** Without its line end; never empty. */
  readonly onLine: (line: Buffer) => void;
  /** Thrown away for its length: how it began and ended. */
  readonly onTooLong: (line: { readonly head: Buffer; readonly tail: Buffer; readonly bytes: number }) => void;
}

/**
 * Cuts a byte stream into lines (MCP "stdio": messages are delimited by newlines). A line costs no more memory than
 * `maxBytes`.
 */
export class LineReader {
  readonly #maxBytes: number;
  readonly #listener: LineListener;
  readonly #line = new GrowableBuffer();
  #tooLong: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;

  constructor(maxBytes: number, listener: LineListener) {
    this.#maxBytes = maxBytes;
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      this.#append(chunk.subarray(from, end));
      this.#finish();
      from = end + 1;
    }
    this.#append(chunk.subarray(from));
  }

  /** What follows is another stream: the line that was begun will never end. */
  reset(): void {
    this.#line.take();
    this.#tooLong = undefined;
  }

  #append(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#tooLong) return this.#skip(this.#tooLong, piece);
    if (this.#line.length + piece.length <= this.#maxBytes) return this.#line.append(piece);
    const begun = Buffer.concat([this.#line.take(), piece]);
    const head = Buffer.from(begun.subarray(0, KEPT_BYTES));
    this.#tooLong = { head, tail: lastOf(begun), bytes: begun.length };
  }

  #skip(line: { tail: Buffer; bytes: number }, piece: Buffer): void {
    line.bytes += piece.length;
    line.tail = lastOf(Buffer.concat([line.tail, lastOf(piece)]));
  }

  #finish(): void {
    const tooLong = this.#tooLong;
    if (tooLong) {
      this.#tooLong = undefined;
      return this.#listener.onTooLong(tooLong);
    }
    const line = this.#line.take();
    const end = line.at(-1) === CR ? line.length - 1 : line.length;
    if (end > 0) this.#listener.onLine(line.subarray(0, end));
  }
}

const lastOf = (bytes: Buffer): Buffer => Buffer.from(bytes.subarray(Math.max(0, bytes.length - KEPT_BYTES)));
