import type { CallClient, ClientAnswer, Inbound, Question } from '../call/index.ts';
import type { CancelSignal } from '../process/index.ts';
import type { Session } from './session.ts';

/**
 * The client of one call: messages go on the stream of the call, or where that is closed on a stream of its session. A
 * log level that the client sets meanwhile applies at once.
 */
export class SessionCallClient implements CallClient {
  readonly era = 'legacy';
  readonly #session: Session;
  readonly #request: Inbound;

  constructor(session: Session, request: Inbound) {
    this.#session = session;
    this.#request = request;
  }

  get capabilities(): Buffer {
    return this.#session.capabilities;
  }

  get logLevel(): string | undefined {
    return this.#session.logLevel;
  }

  notify(notification: Buffer): void {
    if (!this.#request.send(notification)) this.#session.sendOnStream(notification);
  }

  /** Keeps the session alone, and not the request. */
  get notifyLater(): (notification: Buffer) => void {
    const session = this.#session;
    return (notification) => session.sendOnStream(notification);
  }

  backlog(): Promise<void> | undefined {
    return this.#request.backlog();
  }

  ask(question: Question, signal: CancelSignal): Promise<ClientAnswer> {
    const send = (message: Buffer): boolean => this.#request.send(message);
    return this.#session.askOn(send, question, signal);
  }
}
