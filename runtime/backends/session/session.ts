import { atMost, type Clock } from '../../process/index.ts';
import type { VmcpError } from '../../errors.ts';
import type { IdleTimeout, BackendRequest, BackendResponse, Fetch } from '../../outgoing/index.ts';
import type { SavedBackendSession } from '../../store/index.ts';
import { answerIn, SessionOverError } from './answer.ts';
import type { BackendCall, SubscriptionChange } from '../messages/backend-call.ts';
import { CallStream, noClient } from '../messages/call-stream.ts';
import { handshake, noSessionKept, streamHeaders, wantsStream, type OpenSession } from './handshake.ts';
import { deadline, withIdleTimeout } from '../messages/idle-timeout.ts';
import { sessionToSave, resumed } from './resume.ts';
import { SessionPosts } from './posts.ts';
import { ServerStream } from './server-stream.ts';
import { SessionCalls } from './calls.ts';
import type { CloseMode, SessionSettings } from './settings.ts';
import { SseChannel } from './sse-channel.ts';
import { cancelledNotification } from '../messages/small-messages.ts';
import { Subscriptions } from './subscriptions.ts';

/**
 * One MCP session with a backend of a revision up to 2025-11-25. It is opened by its first call, reopened once when the
 * backend no longer knows it, and ended with DELETE, or over HTTP+SSE by closing its stream. Never repeats a call that
 * may have been executed.
 */
export class BackendSession {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #onClosed: () => void;
  readonly #posts: SessionPosts;
  readonly #channel: SseChannel | undefined;
  /** Undefined: nothing was subscribed to over this session here. */
  subscriptions: Subscriptions | undefined;
  #open: OpenSession | undefined;
  #opening: Promise<OpenSession> | undefined;
  readonly #calls = new SessionCalls();
  #closeMode: CloseMode | undefined;
  #stream: ServerStream | undefined;
  #isShared = false;
  readonly #idle = Promise.withResolvers<void>();

  constructor(settings: SessionSettings, clock: Clock, onClosed: () => void = () => {}) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onClosed = onClosed;
    this.#posts = new SessionPosts({ backend: settings.backend, clock, over: this.#over });
    if (settings.transport === 'sse')
      this.#channel = new SseChannel({ ...settings, clock, onLost: () => this.#sessionLost() });
  }

  readonly #over = (fetch: Fetch): Fetch => this.#channel?.over(fetch) ?? fetch;

  /** The backend's response to the call, as it wrote it; a JSON-RPC error is a response too. Throws VmcpError. */
  request(call: BackendCall): Promise<Buffer> {
    return withIdleTimeout(this.#clock, {
      backend: this.#settings.backend,
      idleTimeoutMs: call.idleTimeoutMs,
      signal: call.signal,
      work: (idleTimeout) => {
        this.#calls.begin(call, idleTimeout);
        return this.#exchange(call, call.isDeadline ? deadline(idleTimeout) : idleTimeout);
      },
      mayStillAnswer: () => this.#open !== undefined && !this.#posts.pendingLevel,
      onGivenUp: (reason) => this.#giveUp(call, reason),
      onOver: () => this.#leave(call),
    });
  }

  /** Capabilities and revision the backend answered with; undefined before the first call. */
  get opened(): OpenSession | undefined {
    return this.#open;
  }

  /**
   * Lets all callers use the session: one without an id holds nothing of any caller. From then on, a call that finds
   * the session over rejects with `SessionOverError`, since the next session may have an id. False when the session has
   * an id, or is not open.
   */
  share(): boolean {
    this.#isShared = this.#open !== undefined && !this.#open.hasId;
    return this.#isShared;
  }

  /** Lets calls under way finish, then ends the session at the backend, unless other replicas use it. Never throws. */
  async close(parting: CloseMode = 'end'): Promise<void> {
    if (!this.#closeMode) {
      this.#closeMode = parting;
      this.#onClosed();
      if (this.#calls.size === 0) this.#idle.resolve();
    }
    this.#stream?.close();
    this.subscriptions?.stop();
    await this.#idle.promise;
    await this.#posts.allPosted();
    await this.#opening?.catch(() => {}); // A session that is still being opened has to be ended, too.
    const open = this.#open;
    this.#open = undefined;
    if (this.#channel) return this.#channel.close();
    if (!open?.hasId || (this.#closeMode === 'leave' && open.saved)) return;
    await Promise.all([this.#posts.end(open, this.#settings.fetch), this.#forget(open).catch(() => {})]);
  }

  /** Uses the session that another replica has opened; `quietly`: only to end it. Nothing happens when one is open. */
  adopt(saved: SavedBackendSession, how?: 'quietly'): void {
    if (this.#open || this.#opening || this.#closeMode || this.#channel) return;
    const open = resumed(this.#settings.url, saved);
    if (how === 'quietly') this.#open = open;
    else this.#begin(open);
  }

  #leave(call: BackendCall): void {
    this.#calls.end(call);
    if (this.#closeMode && this.#calls.size === 0) this.#idle.resolve();
  }

  async #exchange(call: BackendCall, idleTimeout: IdleTimeout, how?: 'again'): Promise<Buffer> {
    const open = this.#open ?? (await this.#openFor(call, idleTimeout));
    if (call.session === 'kept' && !open.hasId) throw noSessionKept(this.#settings.backend);
    if (call.subscription) await this.#noteSubscription(call.subscription, call.idleTimeoutMs);
    if (call.client?.era === 'modern') this.setLogLevel(call.client.logLevel);
    if (this.#posts.pendingLevel) await this.#posts.pendingLevel;
    let stream: CallStream | undefined; // Created when needed: most responses are no streams.
    const onMessage = (message: Buffer) => (stream ??= this.#streamOf(call, open, idleTimeout)).receive(message);
    const backlog = () => stream?.backlog();
    let response: BackendResponse;
    try {
      response = await this.#post(call, open, { idleTimeout, onMessage, backlog });
    } finally {
      stream?.end();
    }
    if (response.status < 400 || how === 'again' || !(await this.#posts.isGone(open, response, call)))
      return answerIn(this.#settings.backend, response, call.id);
    if (this.#isShared) throw new SessionOverError(this.#settings.backend);
    if (this.#open === open) this.#open = undefined;
    await this.#forget(open);
    return this.#exchange(call, idleTimeout, 'again');
  }

  #post(
    { id, bytes: body, fetch }: BackendCall,
    { path, headers }: OpenSession,
    heard: Pick<BackendRequest, 'idleTimeout' | 'onMessage' | 'backlog'>,
  ): Promise<BackendResponse> {
    return this.#over(fetch)({ method: 'POST', path, headers, body, awaits: { id, isCall: true }, ...heard });
  }

  #streamOf({ id, fetch, client = noClient }: BackendCall, open: OpenSession, idleTimeout: IdleTimeout): CallStream {
    const { backend, onListChanged } = this.#settings;
    const reply = (response: Buffer): Promise<void> => this.#posts.post(open, fetch, response);
    return new CallStream({ backend, id, idleTimeout, client, onListChanged, reply });
  }

  /** One handshake at a time; all calls that need the session wait for it. */
  async #openFor(
    opening: Pick<BackendCall, 'fetch' | 'idleTimeoutMs'>,
    idleTimeout?: IdleTimeout,
  ): Promise<OpenSession> {
    this.#opening ??= this.#handshake(opening).finally(() => {
      this.#opening = undefined;
    });
    const open = await this.#opening;
    idleTimeout?.refresh();
    return open;
  }

  /**
   * Has a timeout of its own: other calls may need the session although the call that began the handshake has been
   * given up.
   */
  async #handshake({ fetch, idleTimeoutMs }: Pick<BackendCall, 'fetch' | 'idleTimeoutMs'>): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    const known = await memory?.recall(backend);
    const open = known
      ? resumed(url, known)
      : await this.#share(
          await this.#posts.bounded(idleTimeoutMs, (idleTimeout) => this.#openTransport(fetch, idleTimeout)),
          fetch,
        );
    this.#begin(open);
    return open;
  }

  async #openTransport(fetch: Fetch, idleTimeout: IdleTimeout): Promise<OpenSession> {
    if (!this.#channel) return handshake(this.#settings, fetch, idleTimeout);
    try {
      await this.#channel.open(fetch, idleTimeout);
      return { ...(await handshake(this.#settings, this.#over(fetch), idleTimeout)), hasId: true };
    } catch (error) {
      this.#channel.drop();
      throw error;
    }
  }

  #sessionLost(): void {
    this.#open = undefined;
    this.subscriptions?.lost();
  }

  async #noteSubscription(change: SubscriptionChange, idleTimeoutMs: number): Promise<void> {
    const { fetch, mayReopen = () => true } = this.#settings;
    this.subscriptions ??= new Subscriptions({
      ...this.#settings,
      clock: this.#clock,
      post: (request) => this.post(request),
      reopen: async (again) => {
        if (!mayReopen()) throw new SessionOverError(this.#settings.backend);
        return this.#open || this.#closeMode ? undefined : this.#openFor({ fetch, idleTimeoutMs: again });
      },
    });
    this.subscriptions.note(change, idleTimeoutMs);
    // Updates are lost until the stream is open. The wait leaves time to send the call before its timeout.
    if (change.kind === 'begins') await atMost(this.#clock, idleTimeoutMs / 2, this.#streamTried());
  }

  /** Over HTTP+SSE the stream is open anyway. */
  async #streamTried(): Promise<void> {
    if (!this.#channel) await this.#stream?.firstTried;
  }

  /** A backend without such a stream may answer the same: it is reopened only if the backend does not know it. */
  async #checkSession(open: OpenSession): Promise<void> {
    if (!this.subscriptions || this.subscriptions.isEmpty) return;
    if (!(await this.#posts.isUnknown(open, this.#settings.fetch)) || this.#open !== open) return;
    this.#sessionLost();
    await this.#forget(open).catch(() => {});
  }

  /** Saves the session for other replicas. When several replicas open one at once, all use the first one saved. */
  async #share(open: OpenSession, fetch: Fetch): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    if (!memory || !open.hasId) return open;
    const opened = sessionToSave(url, open);
    const saved = await memory.save(backend, opened).catch((error: unknown) => {
      void this.#posts.end(open, fetch);
      throw error;
    });
    if (!saved) return open;
    if (saved.sessionId === opened.sessionId) return { ...open, saved };
    void this.#posts.end(open, fetch);
    return resumed(url, saved);
  }

  async #forget({ saved }: OpenSession): Promise<void> {
    if (saved) await this.#settings.memory?.forget(this.#settings.backend, saved);
  }

  #begin(open: OpenSession): void {
    this.#open = open;
    this.#stream?.close();
    this.#stream = undefined;
    this.setLogLevel(this.#settings.client?.logLevel);
    this.listen();
    this.subscriptions?.opened(this.#streamTried());
  }

  /** Opens the stream for the backend's notifications and requests, when the client can receive them. */
  listen(): void {
    const open = this.#open;
    const { backend, client, fetch, purpose, random, onListChanged } = this.#settings;
    if (!open || this.#stream || this.#closeMode) return;
    // Over HTTP+SSE the stream is open anyway, and requests on it have to be answered.
    if (!this.#channel && !wantsStream(this.#settings, open)) return;
    this.#stream = new ServerStream({
      backend,
      clock: this.#clock,
      random,
      request: { method: 'GET', path: open.path, headers: streamHeaders(open), body: undefined },
      fetch: this.#over(fetch),
      idleTimeout: this.#channel ?? this.#calls,
      onListChanged,
      // A gap in the stream of another session says nothing about the lists.
      onGap: purpose === 'listChanges' ? onListChanged : () => {},
      onUnknown: () => void this.#checkSession(open),
      client: client ?? this.#calls.onlyClient,
      reply: (response) => this.#posts.post(open, fetch, response),
    });
    this.#stream.start();
  }

  /** Does nothing while the session is not open: the level is sent when it opens. */
  setLogLevel(level: string | undefined): void {
    if (this.#open && level !== undefined) this.#posts.postLogLevel(this.#open, this.#settings.fetch, level);
  }

  /** Sends a message whose response is ignored; does nothing while the session is not open. */
  post(message: Buffer): void {
    if (this.#open) void this.#posts.post(this.#open, this.#settings.fetch, message);
  }

  async #giveUp(call: BackendCall, reason: VmcpError): Promise<void> {
    const open = this.#open;
    if (!open) return;
    // MCP "Cancellation": the side that gives up sends it, whether the client cancelled or the call timed out.
    await this.#posts.post(open, call.fetch, cancelledNotification(call.id, reason.message));
    if (this.#channel && reason.code === 'backend_timeout') void this.#checkChannel(this.#channel, open, call.fetch);
  }

  /** Drops the stream if the backend does not answer a ping: a dead stream looks like an idle one. */
  async #checkChannel(channel: SseChannel, open: OpenSession, fetch: Fetch): Promise<void> {
    if (!(await this.#posts.isAnswering(open, fetch)) && this.#open === open) channel.drop();
  }
}
