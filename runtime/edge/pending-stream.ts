import type { OpenStream } from '../call/index.ts';

/** Bytes of the messages that are kept until the stream opens. */
const MAX_QUEUED_BYTES = 1024 * 1024;

/** A stream that can be written to, or ended, before it is open. */
export class PendingStream {
  #stream: OpenStream | undefined;
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #isEnded = false;

  send(message: Buffer): void {
    if (this.#stream) return void this.#stream.send(message);
    this.#earlyBytes += message.length;
    // A message that is not kept would be lost: instead the stream ends, and the client listens anew.
    if (this.#earlyBytes > MAX_QUEUED_BYTES) this.end();
    else if (!this.#isEnded) this.#early.push(message);
  }

  end(): void {
    this.#isEnded = true;
    this.#stream?.end();
  }

  /** Ends it, and drops what waits to be told. */
  cut(): void {
    this.#early = [];
    this.end();
  }

  open(stream: OpenStream, first: Buffer): void {
    this.#stream = stream;
    for (const message of [first, ...this.#early]) stream.send(message);
    this.#early = [];
    if (this.#isEnded) stream.end();
  }
}
