import { GrowableBuffer } from './growable-buffer.ts';
import { runInBatch } from '../process/index.ts';

/** A sender that announces more than it sends costs no more than this. */
const MAX_RESERVED_BYTES = 1024 * 1024;

/**
 * `pipelining` of a connection whose bodies are read with WholeBody: bytes read from a socket then belong to one
 * exchange, and their memory can be freed.
 */
export const NO_PIPELINING = 1;

const nothing = Buffer.alloc(0);

/**
 * Collects the whole body of an HTTP message. Most bodies come in one piece, which is kept uncopied. The memory of
 * further pieces is freed as soon as they are copied; otherwise memory outside the heap causes full collections, with
 * 100 KB both ways one every 75 ms.
 */
export class WholeBody {
  #first: Buffer | undefined;
  #all: GrowableBuffer | undefined;
  #length = 0;
  /** The piece that was copied last: the parser may still read its ArrayBuffer. */
  #copied: Buffer | undefined;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /**
   * `announced` is the `Content-Length`: that capacity is reserved at once, only for speed. The HTTP parser must have
   * finished with the ArrayBuffer of a piece before it delivers a piece of another ArrayBuffer, and before the next
   * turn of the event loop. So the exchange must not be paused, and its connection must carry one exchange at a time.
   */
  append(piece: Buffer, announced: string | undefined): void {
    this.#length += piece.length;
    if (this.#length === piece.length) {
      this.#first = piece;
      return;
    }
    this.#all ??= new GrowableBuffer();
    if (this.#first) {
      this.#all.reserve(Math.min(Number(announced) || 0, MAX_RESERVED_BYTES));
      this.#copy(this.#all, this.#first);
      this.#first = undefined;
    }
    this.#copy(this.#all, piece);
  }

  #copy(all: GrowableBuffer, piece: Buffer): void {
    all.append(piece);
    if (this.#copied && this.#copied.buffer !== piece.buffer) release(this.#copied);
    this.#copied = piece;
  }

  /** Returns everything so far and begins anew. */
  take(): Buffer {
    const whole = this.#first ?? this.#all?.take() ?? nothing;
    const copied = this.#copied;
    if (copied) runInBatch(() => release(copied));
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
 * Frees the ArrayBuffer of a piece, unless small buffers may share it: Node uses slices of its pool only for buffers
 * shorter than half of it (https://nodejs.org/api/buffer.html#static-method-bufferallocunsafesize). A freed piece reads
 * as empty.
 */
const release = ({ buffer, length }: Buffer): void => {
  if (buffer instanceof ArrayBuffer && length > buffer.byteLength / 2) buffer.transfer(0);
};
