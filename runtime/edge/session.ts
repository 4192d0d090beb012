import type { SessionLinks } from '../backends/index.ts';
import type { Caller, ClientAnswer, Inbound, OpenStream, SessionClient } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { Asks } from './asks.ts';
import { canAnswer } from './client-capabilities.ts';
import { requestKey } from './request-id.ts';

/** What `initialize` agreed on. */
export interface InitializedClient {
  /** The protocol revision. */
  readonly revision: string;
  /** JSON text of `params.capabilities`. */
  readonly capabilities: Buffer;
}

export interface SessionParts {
  readonly id: string;
  readonly caller: Caller;
  readonly client: InitializedClient;
  readonly newLinks: (client: SessionClient) => SessionLinks;
  readonly usedAt: number;
}

/** A call under way, and the way to its client. */
interface RunningCall {
  readonly controller: AbortController;
  readonly request: Pick<Inbound, 'send'>;
}

/** One client's session, from `initialize` to DELETE or until it has been idle for too long. */
export class Session implements SessionClient {
  readonly id: string;
  readonly caller: Caller;
  /** The protocol revision agreed on. */
  readonly revision: string;
  readonly capabilities: Buffer;
  /** As `logging/setLevel` has it; all messages until then. */
  logLevel: string | undefined;
  readonly links: SessionLinks;
  /** By their request key. */
  readonly #calls = new Map<string, RunningCall>();
  /** The streams that the client has opened with GET. */
  readonly #streams = new Set<OpenStream>();
  #asks: Asks | undefined;
  usedAt: number;

  constructor({ id, caller, client, newLinks, usedAt }: SessionParts) {
    this.id = id;
    this.caller = caller;
    this.revision = client.revision;
    this.capabilities = client.capabilities;
    this.usedAt = usedAt;
    this.links = newLinks(this);
  }

  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#streams.size === 0;
  }

  get isListening(): boolean {
    return this.#streams.size > 0;
  }

  /** A call begins; `end` must be called when it is over. Throws when one with the same id (JSON text) is still under way. */
  begin(
    id: Buffer,
    request: Pick<Inbound, 'send'>,
  ): {
    readonly signal: AbortSignal;
    readonly end: () => void;
  } {
    const key = requestKey(id);
    // MCP "Requests": an id must not be used twice in a session. Answers and cancellations could not be told apart.
    if (this.#calls.has(key)) throw new VmcpError('not_json_rpc', '"id" is that of a request still under way');
    if (this.#calls.size >= LIMITS.callsPerSession)
      throw new VmcpError('busy', `this session has ${LIMITS.callsPerSession} calls under way; wait for one of them`);
    const controller = new AbortController();
    this.#calls.set(key, { controller, request });
    return { signal: controller.signal, end: () => void this.#calls.delete(key) };
  }

  /** Ends the call with this id (JSON text); nothing happens when it is already over. */
  cancel(id: Buffer, reason: VmcpError): void {
    this.#calls.get(requestKey(id))?.controller.abort(reason);
  }

  cancelAll(reason: VmcpError): void {
    for (const { controller } of this.#calls.values()) controller.abort(reason);
  }

  /** A stream that the client has opened. Throws `busy` when it has too many. */
  listen(stream: OpenStream): void {
    this.#streams.add(stream);
    stream.onClosed(() => this.#streams.delete(stream));
    this.links.listen();
  }

  /** Whether one more stream may be opened. */
  get mayListen(): boolean {
    return this.#streams.size < LIMITS.streamsPerSession;
  }

  /** On one of the client's own streams; MCP: each message goes to one stream only. */
  readonly tell = (message: Buffer): boolean => {
    for (const stream of this.#streams) if (stream.send(message)) return true;
    return false;
  };

  readonly notify = (notification: Buffer): void => void this.#send(notification);

  /** A message about no call: on a stream of its own if there is one, else beside whatever call is under way. */
  readonly #send = (message: Buffer): boolean => {
    if (this.tell(message)) return true;
    for (const { request } of this.#calls.values()) if (request.send(message)) return true;
    return false;
  };

  readonly ask: SessionClient['ask'] = (method, params, signal) => this.askOn(this.#send, { method, params, signal });

  /** Asks the client over `send`, or where that is closed on a stream of the session. */
  async askOn(
    send: (message: Buffer) => boolean,
    {
      method,
      params,
      signal,
    }: { readonly method: string; readonly params: Buffer | undefined; readonly signal: AbortSignal },
  ): Promise<ClientAnswer> {
    if (!canAnswer(this.capabilities, method, params))
      throw new VmcpError('client_cannot_answer', 'the client has not declared that it answers such requests');
    this.#asks ??= new Asks(LIMITS.asksPerSession);
    return this.#asks.ask({ method, params, signal, send: (message) => send(message) || this.#send(message) });
  }

  /** The client's response to something it was asked; false when nobody waits for it. */
  settle(id: Buffer, answer: ClientAnswer): boolean {
    return this.#asks?.settle(requestKey(id), answer) ?? false;
  }

  end(reason: VmcpError): void {
    this.cancelAll(reason);
    this.#asks?.refuseAll(reason);
    for (const stream of this.#streams) stream.end();
  }
}
