import type { OpenStream } from '../call/index.ts';
import { type ClientShare, ClientShares, limitPerAddress, type SharedBudgets } from './client-shares.ts';

/** Counts requests from their arrival until they are answered and sent, or become streams. */
export class RequestsUnderWay {
  readonly #limit: number;
  readonly #limitOfOne: number;
  readonly #clients: ClientShares;
  readonly #streams = new Map<OpenStream, { readonly takesAnswers: boolean }>();
  #active = 0;
  #waiting: (() => void)[] = [];

  constructor(limit: number, together: SharedBudgets) {
    this.#clients = new ClientShares(together);
    this.#limit = limit;
    this.#limitOfOne = limitPerAddress(limit);
  }

  /** Counts a request; to be followed by `leave`, whatever happens to the request. */
  enter(address: string | undefined): ClientShare {
    const client = this.#clients.of(address);
    this.#active += 1;
    client.active += 1;
    return client;
  }

  leave(client: ClientShare): void {
    this.#active -= 1;
    client.active -= 1;
    if (this.#active > 0) return;
    for (const resume of this.#waiting) resume();
    this.#waiting = [];
  }

  /** Whether too many requests are under way, of all clients or of this one. */
  isTooMany(client: ClientShare): boolean {
    return this.#active > this.#limit || client.active > this.#limitOfOne;
  }

  /** Resolves as soon as no request is under way. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * In place of `leave`: the request is a stream from now on. `takesAnswers`: answers to other requests are sent on the
   * stream.
   */
  becomeStream(client: ClientShare, stream: OpenStream, { takesAnswers }: { readonly takesAnswers: boolean }): void {
    this.#streams.set(stream, { takesAnswers });
    stream.onClosed(() => this.#streams.delete(stream));
    this.leave(client);
  }

  /** Ends all streams except those on which answers to other requests are sent. */
  endStreams(): void {
    for (const [stream, { takesAnswers }] of this.#streams) if (!takesAnswers) stream.end();
  }

  /** Ends all streams; resolves when none is left. */
  async endAllStreams(): Promise<void> {
    const all = [...this.#streams.keys()];
    const closed = all.map((stream) => new Promise<void>((resolve) => stream.onClosed(resolve)));
    for (const stream of all) stream.end();
    await Promise.all(closed);
  }
}
