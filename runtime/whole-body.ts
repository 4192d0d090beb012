import { GrowingText } from './growing-text.ts';
import { together } from './together.ts';

/** A sender that announces more than it sends costs no more than this. */
const MAX_RESERVED_BYTES = 1024 * 1024;

/** `pipelining` of a connection whose bodies are read so: what a socket has read is then of one exchange alone, and its memory can be given back. */
export const NO_PIPELINING = 1;

const nothing = Buffer.alloc(0);

/**
 * The body of an HTTP message, wanted whole. Most come in one piece, which is kept as it came. The memory of those that come in more is given
 * back as soon as they are copied: else a full collection does that, which memory beside the heap brings about by itself; with 100 KB both ways
 * one came every 75 ms.
 */
export class WholeBody {
  #first: Buffer | undefined;
  #all: GrowingText | undefined;
  #length = 0;
  /** The piece that was copied last: a parser may still read what lies beside it. */
  #copied: Buffer | undefined;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /**
   * `announced` is the `Content-Length`: so much room is made at once, for the sake of speed alone. The HTTP parser must have finished with the
   * ArrayBuffer of a piece before it brings a piece of another ArrayBuffer, and before the next turn of the event loop. So the exchange must not be
   * paused, and its connection must carry one exchange at a time.
   */
  append(piece: Buffer, announced: string | undefined): void {
    this.#length += piece.length;
    if (this.#length === piece.length) {
      this.#first = piece;
      return;
    }
    this.#all ??= new GrowingText();
    if (this.#first) {
      this.#all.reserve(Math.min(Number(announced) || 0, MAX_RESERVED_BYTES));
      this.#copy(this.#all, this.#first);
      this.#first = undefined;
    }
    this.#copy(this.#all, piece);
  }

  #copy(all: GrowingText, piece: Buffer): void {
    all.append(piece);
    if (this.#copied && this.#copied.buffer !== piece.buffer) giveBack(this.#copied);
    this.#copied = piece;
  }

  /** Everything so far; begins anew. */
  take(): Buffer {
    const whole = this.#first ?? this.#all?.take() ?? nothing;
    const copied = this.#copied;
    if (copied) together(() => giveBack(copied));
    this.drop();
    return whole;
  }

  /** Forgets everything. */
  drop(): void {
    this.#first = undefined;
    this.#all = undefined;
    this.#copied = undefined;
    this.#length = 0;
  }
}

/**
 * Frees the ArrayBuffer of a piece, unless small buffers may share it: Node gives out slices of its pool only where they are shorter than half of it
 * (https://nodejs.org/api/buffer.html#static-method-bufferallocunsafesize). A piece that is read nevertheless is empty, and shows no other bytes.
 */
const giveBack = ({ buffer, length }: Buffer): void => {
  if (buffer instanceof ArrayBuffer && length > buffer.byteLength / 2) buffer.transfer(0);
};
