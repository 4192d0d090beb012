import type { SessionLinks } from '../backends/index.ts';
import type { Caller, EventSink, Inbound, OpenStream, SessionClient } from '../call.ts';
import type { ClientAnswer, Question } from '../questions.ts';
import type { CancelSignal } from '../cancellation.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { Asks } from './asks.ts';
import { type BegunCall, type CallBounds, CallsUnderWay } from './calls-under-way.ts';
import type { EventLog, EventLogs } from './event-log.ts';
import { canAnswer } from './client-capabilities.ts';
import { requestKey } from './request-id.ts';

/** The other replicas, as a session that they share sees them. Promises may reject with `store_unavailable`. */
export interface Elsewhere {
  /** JSON text of an id for a request to the client that leads its answer back here from any replica. */
  readonly newAskId: () => string;
  /** To a stream of the client's own that another replica holds, if any does. False: it cannot be sent now. Never throws. */
  readonly tell: (message: Buffer) => boolean;
  /** The client has answered here what another replica may have asked; `ask` is JSON text. */
  readonly settle: (ask: string, answer: ClientAnswer) => Promise<void>;
  /** The client has given up a request that another replica may be about; `requestId` is JSON text. */
  readonly cancel: (requestId: Buffer) => Promise<void>;
  /** Resolves once messages of other replicas arrive here, or that takes too long. */
  readonly listen: () => Promise<void>;
  readonly setLogLevel: (level: string) => Promise<void>;
  /** Opens here, too, what others have opened with backends. */
  readonly gatherLinks: () => Promise<void>;
}

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
  readonly limits: CallBounds;
  /** The last of its calls and streams is over. */
  readonly onIdle: (session: Session) => void;
  readonly elsewhere?: Elsewhere;
  /** Present: streams can be resumed. */
  readonly logs?: EventLogs | undefined;
}

/** One client's session, from `initialize` to DELETE or until it has been idle for too long. */
export class Session implements SessionClient {
  readonly id: string;
  /** Whose it is, by the token that was presented last. */
  caller: Caller;
  /** The protocol revision agreed on. */
  readonly revision: string;
  readonly capabilities: Buffer;
  /** As `logging/setLevel` has it; all messages until then. */
  logLevel: string | undefined;
  readonly links: SessionLinks;
  readonly #calls: CallsUnderWay;
  /** The client's own streams. */
  readonly #streams = new Set<OpenStream>();
  /** Of those that are open, or about to be. */
  readonly #places = new Set<symbol>();
  /** What its streams are sent from, where they can be resumed: those of calls that it has come back to, too. */
  readonly #connected = new Set<EventLog>();
  #asks: Asks | undefined;
  readonly #elsewhere: Elsewhere | undefined;
  readonly logs: EventLogs | undefined;
  /** The last of the client's own streams that lost its connection. */
  #lost: EventLog | undefined;
  readonly #onIdle: SessionParts['onIdle'];
  usedAt: number;

  constructor({ id, caller, client, newLinks, usedAt, limits, onIdle, elsewhere, logs }: SessionParts) {
    this.id = id;
    this.#calls = new CallsUnderWay(limits, () => this.#checkIdle());
    this.caller = caller;
    this.revision = client.revision;
    this.capabilities = client.capabilities;
    this.usedAt = usedAt;
    this.#onIdle = onIdle;
    this.#elsewhere = elsewhere;
    this.logs = logs;
    this.links = newLinks(this);
  }

  /** The caller has shown a token, perhaps a newer one. */
  presentedBy(caller: Caller): this {
    this.caller = caller;
    return this;
  }

  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#streams.size === 0;
  }

  /** Where a session is shared, another replica may hold a stream. */
  get isListening(): boolean {
    return this.#streams.size > 0 || this.#elsewhere !== undefined;
  }

  get hasStreams(): boolean {
    return this.#streams.size > 0;
  }

  /** A call begins. Throws when one with the same id (JSON text) is still under way, and `busy`. */
  begin(id: Buffer, request: Pick<Inbound, 'send'>): BegunCall {
    return this.#calls.begin(id, request);
  }

  #checkIdle(): void {
    if (this.isIdle) this.#onIdle(this);
  }

  /** Ends the call with this id (JSON text), at whatever replica; nothing happens when it is already over. */
  cancel(id: Buffer, reason: VmcpError): void | Promise<void> {
    if (!this.cancelHere(id, reason)) return this.#elsewhere?.cancel(id);
  }

  /** False when this replica has no such call. */
  cancelHere(id: Buffer, reason: VmcpError): boolean {
    return this.#calls.cancel(id, reason);
  }

  cancelAll(reason: VmcpError): void {
    this.#calls.cancelAll(reason);
  }

  /** A stream that the client has opened. */
  listen(stream: OpenStream): void {
    if (!this.logs) return this.#add(stream);
    const log = this.logs.newStream();
    const sink = sinkOf(stream);
    log.begin(sink);
    this.#connect(stream, log, sink);
  }

  /** Goes on with the stream that the event with this id was sent on. False: nothing is known of it. */
  resume(stream: OpenStream, eventId: string): boolean {
    const found = this.logs?.find(eventId);
    if (!found) return false;
    const sink = sinkOf(stream);
    found.log.resume(sink, found.sequence);
    this.#connect(stream, found.log, sink);
    return true;
  }

  #connect(stream: OpenStream, log: EventLog, sink: EventSink): void {
    this.#connected.add(log);
    stream.onClosed(() => {
      log.lose(sink);
      if (log.isOpen) return;
      this.#connected.delete(log);
      // Where others serve the session too, the client may have come back to one of them.
      if (!log.isOfCall && !this.#elsewhere) this.#lost = log;
    });
    if (log.isOfCall) return;
    if (this.#lost === log) this.#lost = undefined;
    this.#add({ ...stream, send: (data) => log.send(data) });
  }

  #add(stream: OpenStream): void {
    this.#streams.add(stream);
    stream.onClosed(() => {
      this.#streams.delete(stream);
      this.#checkIdle();
    });
    this.links.listen();
    void this.#elsewhere?.gatherLinks().catch(() => {});
  }

  /** To be waited for before a stream is promised to the client. */
  prepareToListen(): void | Promise<void> {
    return this.#elsewhere?.listen();
  }

  /**
   * A place for one more stream, until the returned function is called, however often. One that goes on with a stream takes that one's
   * place. Throws `too_many_streams`.
   */
  takePlace(eventId: string | undefined): () => void {
    const log = eventId === undefined ? undefined : this.logs?.find(eventId)?.log;
    const isInstead = log !== undefined && this.#connected.has(log);
    if (!isInstead && this.#places.size >= LIMITS.streamsPerSession)
      throw new VmcpError('too_many_streams', 'this session has too many streams open');
    const place = Symbol();
    this.#places.add(place);
    return () => void this.#places.delete(place);
  }

  /** On one of the client's own streams, at whatever replica. */
  tell(message: Buffer): void {
    if (!this.tellHere(message)) this.#elsewhere?.tell(message);
  }

  /** On one of the client's own streams; MCP: each message goes to one stream only. */
  readonly tellHere = (message: Buffer): boolean => this.#tellOpen(message) || this.#keepForLost(message);

  #tellOpen(message: Buffer): boolean {
    for (const stream of this.#streams) if (stream.send(message)) return true;
    return false;
  }

  #keepForLost(message: Buffer): boolean {
    return this.#lost?.send(message) ?? false;
  }

  readonly notify = (notification: Buffer): void => void this.#send(notification);

  /** A message about no call: on a stream of its own if there is one, else beside whatever call is under way. */
  readonly #send = (message: Buffer): boolean => {
    if (this.#tellOpen(message) || this.#calls.send(message)) return true;
    // The client may never come back to a stream it has lost.
    if (this.#keepForLost(message)) return true;
    // Whether another replica holds a stream is not known here.
    return this.#elsewhere?.tell(message) ?? false;
  };

  readonly ask: SessionClient['ask'] = (question, signal) => this.askOn(this.#send, question, signal);

  /** Asks the client over `send`, or where that is closed on a stream of the session. */
  async askOn(
    send: (message: Buffer) => boolean,
    { method, params }: Question,
    signal: CancelSignal,
  ): Promise<ClientAnswer> {
    if (!canAnswer(this.capabilities, method, params))
      throw new VmcpError('client_cannot_answer', 'the client has not declared that it answers such requests');
    this.#asks ??= new Asks(LIMITS.asksPerSession, this.#elsewhere?.newAskId);
    return this.#asks.ask({ method, params, signal, send: (message) => send(message) || this.#send(message) });
  }

  /** The client's response to something it was asked, by whatever replica; nothing happens when nobody waits for it. */
  settle(id: Buffer, answer: ClientAnswer): void | Promise<void> {
    const ask = requestKey(id);
    if (!this.settleHere(ask, answer)) return this.#elsewhere?.settle(ask, answer);
  }

  /** False when nobody waits for it at this replica. */
  settleHere(ask: string, answer: ClientAnswer): boolean {
    return this.#asks?.settle(ask, answer) ?? false;
  }

  setLogLevel(level: string): void | Promise<void> {
    this.takeLogLevel(level);
    return this.#elsewhere?.setLogLevel(level);
  }

  /** As another replica has been told. */
  takeLogLevel(level: string): void {
    this.logLevel = level;
    this.links.setLogLevel(level);
  }

  /** A notification of the client for all its backends. */
  tellBackends(notification: Buffer): void | Promise<void> {
    if (!this.#elsewhere) return this.links.tell(notification);
    return this.#elsewhere.gatherLinks().then(() => this.links.tell(notification));
  }

  end(reason: VmcpError): void {
    this.cancelAll(reason);
    this.#asks?.refuseAll(reason);
    for (const stream of this.#streams) stream.end();
    this.logs?.clear();
  }
}

export const noSuchSession = (): VmcpError =>
  new VmcpError('session_not_found', 'no such session; initialize a new one');

const sinkOf = (stream: OpenStream): EventSink => ({
  send: (data, id) => stream.send(data, undefined, id),
  end: stream.end,
});
