import type { Caller, SessionClient, SubscriptionRights } from '../../call/index.ts';
import { updatedUri } from '../messages/server-message.ts';

/** Resources whose subscriptions have ended; beyond this number every update is decided. */
const MAX_ENDED = 1_000;

export interface HearingClientOptions {
  readonly rights: SubscriptionRights;
  /** Other replicas subscribe over the same backend sessions, so this one does not know what has ended. */
  readonly isShared: boolean;
}

/**
 * The client of a session as backends reach it. Updates of a resource whose subscription was ended here are decided one
 * by one, since a backend may go on telling of it.
 */
export class HearingClient implements SessionClient {
  readonly #client: SessionClient;
  readonly #rights: SubscriptionRights;
  readonly #ended = new Set<string>();
  #decidesAll: boolean;

  constructor(client: SessionClient, { rights, isShared }: HearingClientOptions) {
    this.#client = client;
    this.#rights = rights;
    this.#decidesAll = isShared;
  }

  get caller(): Caller {
    return this.#client.caller;
  }

  get capabilities(): Buffer {
    return this.#client.capabilities;
  }

  get logLevel(): string | undefined {
    return this.#client.logLevel;
  }

  get isListening(): boolean {
    return this.#client.isListening;
  }

  readonly ask: SessionClient['ask'] = (question, signal) => this.#client.ask(question, signal);

  readonly notify: SessionClient['notify'] = (notification) => {
    const uri = updatedUri(notification);
    if (uri === undefined || !this.#isInDoubt(uri)) return this.#client.notify(notification);
    if (typeof uri !== 'string') return;
    const mayHear = this.#rights.mayHear(uri, this.caller);
    if (mayHear === true) return this.#client.notify(notification);
    if (mayHear === false) return;
    void mayHear.then((isAllowed) => isAllowed && this.#client.notify(notification)).catch(() => {});
  };

  #isInDoubt(uri: unknown): boolean {
    return this.#decidesAll || (typeof uri === 'string' ? this.#ended.has(uri) : this.#ended.size > 0);
  }

  /** From now on, updates of this resource are decided one by one. */
  ended(uri: string): void {
    if (this.#ended.size >= MAX_ENDED) this.#decidesAll = true;
    else this.#ended.add(uri);
  }
}
