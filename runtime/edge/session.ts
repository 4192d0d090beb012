import type { ClientBackendSessions } from '../backends/index.ts';
import type { Caller, EventSink, Inbound, OpenStream, SessionClient, ClientAnswer, Question } from '../call/index.ts';
import type { CancelSignal, Clock } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { canAnswer } from '../mcp/index.ts';
import { PendingClientRequests } from './pending-client-requests.ts';
import { type BegunCall, type CallBounds, CallsUnderWay } from './calls-under-way.ts';
import { type EventLog, type EventLogs, sinkOf } from './event-log.ts';
import type { InitializedClient } from './initialized-client.ts';
import { requestKey } from './request-id.ts';
import { RootsChanges } from './roots-changes.ts';
import type { ReplicaPeers } from './replica-peers.ts';

export interface SessionParts {
  readonly id: string;
  readonly caller: Caller;
  readonly client: InitializedClient;
  readonly newBackendSessions: (client: SessionClient) => ClientBackendSessions;
  readonly clock: Clock;
  readonly limits: CallBounds;
  /** Called when the last call or stream of the session has ended. */
  readonly onIdle: (session: Session) => void;
  /** Whether some token of the caller is valid. */
  readonly isValid?: ((caller: Caller) => boolean) | undefined;
  readonly peers?: ReplicaPeers;
  /** Present: streams can be resumed. */
  readonly logs?: EventLogs | undefined;
}

/** One client's session, from `initialize` to DELETE or until it has been idle for too long. */
export class Session implements SessionClient {
  readonly id: string;
  /** The caller that the session belongs to, by the token presented last. */
  caller: Caller;
  /** The protocol revision agreed on. */
  readonly revision: string;
  readonly capabilities: Buffer;
  /** As in InitializedClient. */
  readonly clientName: string | undefined;
  /** The level that `logging/setLevel` has set; undefined: log messages of every level are sent. */
  logLevel: string | undefined;
  readonly backendSessions: ClientBackendSessions;
  readonly #calls: CallsUnderWay;
  /** The client's own streams. */
  readonly #streams = new Set<OpenStream>();
  /** One for each stream that is open or about to be opened. */
  readonly #reservations = new Set<symbol>();
  /** Event logs of the streams that are connected now and can be resumed, resumed ones of calls included. */
  readonly #connected = new Set<EventLog>();
  #pendingRequests: PendingClientRequests | undefined;
  readonly #peers: ReplicaPeers | undefined;
  readonly logs: EventLogs | undefined;
  /** Event log of the last of the client's own streams that lost its connection. */
  #lost: EventLog | undefined;
  readonly #onIdle: SessionParts['onIdle'];
  readonly #clock: Clock;
  readonly #isValid: SessionParts['isValid'];
  #rootsChanges: RootsChanges | undefined;
  #isOver = false;
  usedAt: number;

  constructor({ id, caller, client, newBackendSessions, clock, limits, onIdle, isValid, peers, logs }: SessionParts) {
    this.id = id;
    this.#calls = new CallsUnderWay(limits, () => this.#checkIdle());
    this.caller = caller;
    this.revision = client.revision;
    this.capabilities = client.capabilities;
    this.clientName = client.clientName;
    this.usedAt = clock.now();
    this.#onIdle = onIdle;
    this.#clock = clock;
    this.#isValid = isValid;
    this.#peers = peers;
    this.logs = logs;
    this.backendSessions = newBackendSessions(this);
  }

  /** Notes the caller of the newest request, whose token may be newer. */
  presentedBy(caller: Caller): this {
    const isAnother = caller !== this.caller;
    this.caller = caller;
    // Another token may give other rights.
    if (isAnother) void this.backendSessions.readmit().catch(() => {});
    return this;
  }

  /** Whether some token of the caller is valid. */
  get isCallerValid(): boolean {
    return this.#isValid?.(this.caller) !== false;
  }

  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#streams.size === 0;
  }

  /** Where a session is shared, another replica may hold a stream. */
  get isListening(): boolean {
    return this.#streams.size > 0 || this.#peers !== undefined;
  }

  get underWay(): { readonly calls: number; readonly streams: number } {
    return { calls: this.#calls.size, streams: this.#streams.size };
  }

  /**
   * Begins a call. Throws `not_json_rpc` when a call with the same id (JSON text) is still under way, `busy` when too
   * many calls wait.
   */
  begin(id: Buffer, request: Pick<Inbound, 'send'>): BegunCall {
    return this.#calls.begin(id, request);
  }

  #checkIdle(): void {
    if (this.isIdle) this.#onIdle(this);
  }

  /**
   * Cancels the call with this id (JSON text), whichever replica serves it; does nothing when the call is already over.
   */
  cancel(id: Buffer, reason: VmcpError): void | Promise<void> {
    if (!this.cancelHere(id, reason)) return this.#peers?.cancel(id);
  }

  /** False when this replica has no such call. */
  cancelHere(id: Buffer, reason: VmcpError): boolean {
    return this.#calls.cancel(id, reason);
  }

  cancelAll(reason: VmcpError): void {
    this.#calls.cancelAll(reason);
  }

  /** Adds a stream that the client has opened. The session may have ended while that was prepared. */
  listen(stream: OpenStream): void {
    if (this.#isOver) return stream.end();
    if (!this.logs) return this.#add(stream);
    const log = this.logs.newStream();
    const sink = sinkOf(stream);
    log.begin(sink);
    this.#connect(stream, log, sink);
  }

  /** Resumes the stream on which the event with this id was sent. False: this replica does not know the event. */
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
      log.disconnect(sink);
      if (log.isOpen) return;
      this.#connected.delete(log);
      // Where other replicas serve the session too, the client may have reconnected to one of them.
      if (!log.isOfCall && !this.#peers) this.#lost = log;
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
    this.backendSessions.listen();
    void this.#peers?.gatherBackendSessions().catch(() => {});
  }

  /** To be awaited before a stream is promised to the client. */
  prepareToListen(): void | Promise<void> {
    return this.#peers?.listen();
  }

  /**
   * Reserves a place for one more stream; the returned function releases it and may be called repeatedly. A stream that
   * resumes a connected one takes its place. Throws `too_many_streams`.
   */
  takePlace(eventId: string | undefined): () => void {
    const log = eventId === undefined ? undefined : this.logs?.find(eventId)?.log;
    const isInstead = log !== undefined && this.#connected.has(log);
    if (!isInstead && this.#reservations.size >= LIMITS.streamsPerSession)
      throw new VmcpError('too_many_streams', 'this session has too many streams open');
    const place = Symbol();
    this.#reservations.add(place);
    return () => void this.#reservations.delete(place);
  }

  /** Sends a message on one of the client's own streams, here or at another replica. */
  sendOnStream(message: Buffer): void {
    if (!this.sendOnStreamHere(message)) this.#peers?.sendToStream(message);
  }

  /** Sends a message on one of the client's own streams at this replica; MCP: each message goes to one stream only. */
  readonly sendOnStreamHere = (message: Buffer): boolean =>
    this.#sendOnOpenStream(message) || this.#keepForLost(message);

  #sendOnOpenStream(message: Buffer): boolean {
    // The client comes back with a token that is valid. Until then a message is kept only where streams can be resumed.
    if (this.#calls.size === 0 && !this.isCallerValid) this.endStreams();
    for (const stream of this.#streams) if (stream.send(message)) return true;
    return false;
  }

  #keepForLost(message: Buffer): boolean {
    return this.#lost?.send(message) ?? false;
  }

  readonly notify = (notification: Buffer): void => void this.#send(notification);

  /**
   * Sends a message that belongs to no call: on one of the client's own streams if there is one, else on the stream of
   * any call under way.
   */
  readonly #send = (message: Buffer): boolean => {
    if (this.#sendOnOpenStream(message) || this.#calls.send(message)) return true;
    // The client may never come back to a stream it has lost.
    if (this.#keepForLost(message)) return true;
    // Whether another replica holds a stream is not known here.
    return this.#peers?.sendToStream(message) ?? false;
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
    this.#pendingRequests ??= new PendingClientRequests(LIMITS.clientRequestsPerSession, this.#peers?.newRequestId);
    const sendAnywhere = (message: Buffer): boolean => send(message) || this.#send(message);
    return this.#pendingRequests.ask({ method, params, signal, send: sendAnywhere });
  }

  /**
   * Takes the client's response to a request that this or another replica has made; does nothing when the request is no
   * longer pending.
   */
  settle(id: Buffer, answer: ClientAnswer): void | Promise<void> {
    const ask = requestKey(id);
    if (!this.settleHere(ask, answer)) return this.#peers?.settle(ask, answer);
  }

  /** False when no such request is pending at this replica. */
  settleHere(ask: string, answer: ClientAnswer): boolean {
    return this.#pendingRequests?.settle(ask, answer) ?? false;
  }

  setLogLevel(level: string): void | Promise<void> {
    this.takeLogLevel(level);
    return this.#peers?.setLogLevel(level);
  }

  /** Takes over the level that the client has set at another replica. */
  takeLogLevel(level: string): void {
    this.logLevel = level;
    this.backendSessions.setLogLevel(level);
  }

  /** Sends `notifications/roots/list_changed` to all backends that have a session for the client. */
  rootsChanged(notification: Buffer): void | Promise<void> {
    const relay = this.#notifyBackends;
    return (this.#rootsChanges ??= new RootsChanges({ clock: this.#clock, relay })).note(notification);
  }

  readonly #notifyBackends = (notification: Buffer): void | Promise<void> => {
    if (!this.#peers) return this.backendSessions.notify(notification);
    return this.#peers.gatherBackendSessions().then(() => this.backendSessions.notify(notification));
  };

  /** Ends the client's own streams in order. */
  endStreams(): void {
    for (const stream of this.#streams) stream.end();
  }

  end(reason: VmcpError): void {
    this.cancelAll(reason);
    this.#pendingRequests?.refuseAll(reason);
    this.retire();
  }

  /** Ends everything but the calls under way. */
  retire(): void {
    this.#isOver = true;
    this.endStreams();
    this.logs?.clear();
  }
}
