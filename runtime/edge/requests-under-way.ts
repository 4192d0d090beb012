import type { OpenStream } from '../call.ts';
import { type ClientShare, ClientShares, partOfOneAddress, type SharedBudgets } from './client-shares.ts';

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
    this.#limitOfOne = partOfOneAddress(limit);
  }

  /** To be followed by `leave`, whatever happens to the request. */
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

  /** Whether there are too many, of all clients or of this one. */
  isTooMany(client: ClientShare): boolean {
    return this.#active > this.#limit || client.active > this.#limitOfOne;
  }

  /** Resolves as soon as there is none. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** In place of `leave`: the request is a stream from now on. `takesAnswers`: those to other requests come on it. */
  becomeStream(client: ClientShare, stream: OpenStream, { takesAnswers }: { readonly takesAnswers: boolean }): void {
    this.#streams.set(stream, { takesAnswers });
    stream.onClosed(() => this.#streams.delete(stream));
    this.leave(client);
  }

  /** Except those that answers still come on. */
  endStreams(): void {
    for (const [stream, { takesAnswers }] of this.#streams) if (!takesAnswers) stream.end();
  }

  /** Resolves when none is left. */
  async endAllStreams(): Promise<void> {
    const all = [...this.#streams.keys()];
    const closed = all.map((stream) => new Promise<void>((resolve) => stream.onClosed(resolve)));
    for (const stream of all) stream.end();
    await Promise.all(closed);
  }
}
