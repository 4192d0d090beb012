import type { CallClient, Inbound, ClientAnswer, Question } from '../call/index.ts';
import type { Cancellation, CancelSignal } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { canAnswer, neededFor } from '../mcp/index.ts';
import type { HeldCall } from './held-call.ts';

export interface ModernClientParts {
  readonly request: Pick<Inbound, 'send' | 'backlog' | 'clientAddress'>;
  /** JSON text. */
  readonly capabilities: Buffer;
  readonly logLevel: string | undefined;
  /** Cancels the call. */
  readonly cancellation: Cancellation;
}

/**
 * The client of a call of 2026-07-28. That revision has no requests to clients: a call whose backend makes some is held
 * (`HeldCalls`), or ends with the error that says why it cannot be held.
 */
export class ModernClient implements CallClient {
  readonly era = 'modern';
  readonly capabilities: Buffer;
  readonly request: ModernClientParts['request'];
  readonly #logLevel: string | undefined;
  readonly #cancellation: Cancellation;
  #isServed = false;
  /** Pieces of work that go on after the answer (`keep`). */
  #kept = 0;
  #release: (() => void) | undefined;
  /** Holds the call; throws `busy` when too many calls are held. Absent: the client could not continue such a call. */
  begun: { readonly hold: () => HeldCall } | undefined;
  #held: HeldCall | undefined;

  constructor({ request, capabilities, logLevel, cancellation }: ModernClientParts) {
    this.request = request;
    this.capabilities = capabilities;
    this.#logLevel = logLevel;
    this.#cancellation = cancellation;
  }

  /** The call, once it is held. */
  get held(): HeldCall | undefined {
    return this.#held;
  }

  get address(): string | undefined {
    return this.request.clientAddress;
  }

  get logLevel(): string | undefined {
    return this.#held ? this.#held.logLevel : this.#logLevel;
  }

  cancel(reason: VmcpError): void {
    this.#cancellation.abort(reason);
  }

  /** The call is done. */
  served(): void {
    this.#isServed = true;
    this.#releaseIfDone();
  }

  /** The request is answered; calls `release` now, or once a held call and all work that is kept are done. */
  whenServed(release: () => void): void {
    this.#release = release;
    this.#releaseIfDone();
  }

  keep(): () => void {
    this.#kept += 1;
    return () => {
      this.#kept -= 1;
      this.#releaseIfDone();
    };
  }

  /** MCP 2026-07-28, "Cancellation": a client that closes the stream of a request no longer wants its answer. */
  gone(): void {
    if (this.#kept === 0) this.cancel(new VmcpError('cancelled', 'the client went away'));
  }

  #releaseIfDone(): void {
    if (this.#kept > 0 || (this.#held && !this.#isServed)) return;
    this.#release?.();
    this.#release = undefined;
  }

  notify(notification: Buffer): void {
    if (this.#held) this.#held.notify(notification);
    else this.request.send(notification);
  }

  backlog(): Promise<void> | undefined {
    return this.#held ? this.#held.backlog() : this.request.backlog();
  }

  async ask(question: Question, signal: CancelSignal): Promise<ClientAnswer> {
    const { method, params } = question;
    // The backend may still ask until it learns that the call is over: such a call is not held.
    if (this.#isServed || this.#cancellation.aborted) throw new VmcpError('cancelled', 'the call is over');
    try {
      if (!canAnswer(this.capabilities, method, params)) throw cannotAnswer(method);
      this.#held ??= this.begun?.hold();
      if (!this.#held) throw askedInVain();
    } catch (error) {
      if (error instanceof VmcpError) this.cancel(error);
      throw error;
    }
    return this.#held.ask(question, signal);
  }
}

const cannotAnswer = (method: string): VmcpError =>
  new VmcpError('missing_client_capability', 'the client has not declared a capability that the backend needs', {
    data: { requiredCapabilities: { [neededFor(method) ?? method]: {} } },
  });

const askedInVain = (): VmcpError =>
  new VmcpError('client_cannot_answer', 'the backend asks in a way that this protocol revision does not know');
