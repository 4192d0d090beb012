import type { Caller, SessionClient, SubscriptionRights } from '../../call/index.ts';
import { updatedUri } from '../messages/server-message.ts';

/**
 * The client of a session as backends reach it. Each update of a resource is decided by the URI that it names: a
 * backend may tell of resources that the client never subscribed to, or may not read any more.
 */
export class HearingClient implements SessionClient {
  readonly #client: SessionClient;
  readonly #rights: Pick<SubscriptionRights, 'mayHear'>;

  constructor(client: SessionClient, rights: Pick<SubscriptionRights, 'mayHear'>) {
    this.#client = client;
    this.#rights = rights;
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
    if (uri === undefined) return this.#client.notify(notification);
    const mayHear = this.#rights.mayHear(typeof uri === 'string' ? uri : undefined, this.caller);
    if (mayHear === true) return this.#client.notify(notification);
    if (mayHear === false) return;
    void mayHear.then((isAllowed) => isAllowed && this.#client.notify(notification)).catch(() => {});
  };
}
