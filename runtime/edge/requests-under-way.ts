import type { OpenStream } from '../call.ts';
import { type ClientShare, ClientShares, partOfOneAddress, type SharedBudgets } from './client-shares.ts';

/** Counts requests from their arrival until they are answered and sent, or become streams. */
export class RequestsUnderWay {
  readonly #limit: number;
  readonly #limitOfOne: number;
  readonly #clients: ClientShares;
  readonly #streams = new Set<OpenStream>();
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

  get active(): number {
    return this.#active;
  }

  /** Resolves as soon as there is none. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** In place of `leave`: the request is a stream from now on. `open` is given what to call once that has ended. */
  becomeStream(client: ClientShare, open: (onClosed: () => void) => OpenStream): void {
    this.leave(client);
    const stream = open(() => this.#streams.delete(stream));
    this.#streams.add(stream);
  }

  endStreams(): void {
    for (const stream of this.#streams) stream.end();
  }
}
