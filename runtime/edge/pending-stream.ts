import type { OpenStream } from '../call.ts';

/** Of what is told before the stream is there. */
const MAX_EARLY_BYTES = 1024 * 1024;

/** A stream that may be told something, or ended, before it is there. */
export class PendingStream {
  #stream: OpenStream | undefined;
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #isEnded = false;

  send(message: Buffer): void {
    if (this.#stream) return void this.#stream.send(message);
    this.#earlyBytes += message.length;
    // What is not kept would be missed: the client listens anew when its stream ends.
    if (this.#earlyBytes > MAX_EARLY_BYTES) this.end();
    else if (!this.#isEnded) this.#early.push(message);
  }

  end(): void {
    this.#isEnded = true;
    this.#stream?.end();
  }

  open(stream: OpenStream, first: Buffer): void {
    this.#stream = stream;
    for (const message of [first, ...this.#early]) stream.send(message);
    this.#early = [];
    if (this.#isEnded) stream.end();
  }
}
