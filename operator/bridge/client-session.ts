import type { OpenStream, ClientAnswer } from '../../runtime/call/index.ts';
import { PendingClientRequests, type BegunCall, CallsUnderWay, requestKey } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { canAnswer } from '../../runtime/mcp/index.ts';
import { BOUNDS } from './bounds.ts';
import { Subscriptions } from './subscriptions.ts';

/** Sends a whole JSON-RPC message; false when no stream takes it. */
export type Send = (message: Buffer) => boolean;

/** A request of the server to a client. */
export interface ServerRequest {
  readonly method: string;
  /** JSON text. */
  readonly params: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** One client of the server, from `initialize` to DELETE or until it has been idle for too long. */
export class ClientSession {
  readonly id: string;
  /** JSON text. */
  readonly capabilities: Buffer;
  /** As `logging/setLevel` has it; all messages until then. */
  logLevel: string | undefined;
  readonly subscriptions = new Subscriptions();
  usedAt: number;
  /** Nothing was sent on it since it was opened. */
  isUnused = true;
  readonly #calls = new CallsUnderWay({ calls: BOUNDS.callsPerSession });
  readonly #streams = new Set<OpenStream>();
  /** Streams that are about to open, too. */
  #places = 0;
  readonly #asks = new PendingClientRequests(BOUNDS.clientRequestsPerSession);

  constructor(id: string, capabilities: Buffer, now: number) {
    this.id = id;
    this.capabilities = capabilities;
    this.usedAt = now;
  }

  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#streams.size === 0;
  }

  /** A call begins, with the stream of its answer. `id` is JSON text. */
  begin(id: Buffer, send: Send): BegunCall {
    return this.#calls.begin(id, { send });
  }

  /** Ends the call with this id (JSON text); nothing happens when it is over. */
  cancel(id: Buffer, reason: VmcpError): void {
    this.#calls.cancel(id, reason);
  }

  /** A place for one more stream of the client's own, until the returned function is called. */
  reserveStream(): () => void {
    if (this.#places >= BOUNDS.streamsPerSession)
      throw new VmcpError('too_many_streams', 'this session has too many streams open');
    this.#places += 1;
    let isTaken = true;
    return () => {
      if (isTaken) this.#places -= 1;
      isTaken = false;
    };
  }

  listen(stream: OpenStream): void {
    this.#streams.add(stream);
    stream.onClosed(() => this.#streams.delete(stream));
  }

  /**
   * Sends a message that belongs to no call: on the client's own stream, or where there is none on that of a call. MCP:
   * each message goes to one stream only.
   */
  readonly notify: Send = (message) => this.#sendOnStream(message) || this.#calls.send(message);

  /** Sends a message that belongs to a call: on the call's stream, or where that is closed on the client's own. */
  readonly notifyInCall: Send = (message) => this.#calls.send(message) || this.#sendOnStream(message);

  /** Asks the client. Throws `client_cannot_answer` when it has not declared that it can, or nothing reaches it. */
  ask({ method, params, signal }: ServerRequest): Promise<ClientAnswer> {
    if (!canAnswer(this.capabilities, method, params))
      throw new VmcpError('client_cannot_answer', 'the client has not declared that it answers such requests');
    return this.#asks.ask({ method, params, signal, send: this.notifyInCall });
  }

  /** Settles the pending request with this id; ignored when there is none. */
  settle(id: Buffer, answer: ClientAnswer): void {
    this.#asks.settle(requestKey(id), answer);
  }

  end(reason: VmcpError): void {
    this.#calls.cancelAll(reason);
    this.#asks.refuseAll(reason);
    for (const stream of this.#streams) stream.end();
  }

  #sendOnStream(message: Buffer): boolean {
    for (const stream of this.#streams) if (stream.send(message)) return true;
    return false;
  }
}
