import type { OpenStream } from '../call/index.ts';

/** Bytes of the messages that are kept until the stream opens, or until it is decided whether they may be told. */
const MAX_QUEUED_BYTES = 1024 * 1024;

/** A stream that can be written to, or ended, before it is open, and that can be held back. */
export class PendingStream {
  #stream: OpenStream | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isHeld = false;
  #isEnded = false;

  send(message: Buffer): void {
    if (this.#stream && !this.#isHeld) return void this.#stream.send(message);
    this.#waitingBytes += message.length;
    // A message that is not kept would be lost: instead the stream ends, and the client listens anew.
    if (this.#waitingBytes > MAX_QUEUED_BYTES) this.end();
    else if (!this.#isEnded) this.#waiting.push(message);
  }

  /** From now on messages wait, until `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#sendWaiting();
  }

  end(): void {
    this.#isEnded = true;
    this.#stream?.end();
  }

  /** Ends it, and drops what waits to be told. */
  cut(): void {
    this.#waiting = [];
    this.end();
  }

  open(stream: OpenStream, first: Buffer): void {
    this.#stream = stream;
    stream.send(first);
    if (!this.#isHeld) this.#sendWaiting();
    if (this.#isEnded) stream.end();
  }

  #sendWaiting(): void {
    if (!this.#stream) return;
    for (const message of this.#waiting) this.#stream.send(message);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
