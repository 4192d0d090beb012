import { atMost, type Clock } from '../clock.ts';
import type { VmcpError } from '../errors.ts';
import type { Attention, BackendRequest, BackendResponse, Fetch } from '../outgoing/index.ts';
import type { SavedBackendSession } from '../store/index.ts';
import { answerIn, SessionOverError } from './session-answer.ts';
import type { BackendCall } from './backend-call.ts';
import { CallStream, nobody } from './call-stream.ts';
import { handshake, keepsNone, streamHeaders, wantsStream, type OpenSession } from './handshake.ts';
import { deadline, patiently } from './patience.ts';
import { keptOf, resumed } from './session-memory.ts';
import { SessionPosts } from './session-posts.ts';
import { ServerStream } from './server-stream.ts';
import { SessionCalls } from './session-calls.ts';
import type { Parting, SessionSettings } from './session-settings.ts';
import { SseChannel } from './sse-channel.ts';
import { cancelledNotification } from './small-messages.ts';
import { type SubscriptionChange, Subscriptions } from './subscriptions.ts';

/**
 * One MCP session with a backend of a revision up to 2025-11-25. Opened by its first call, opened anew once when the backend no longer
 * knows it, ended with DELETE, or over HTTP+SSE with its stream. Never repeats a call that may have been executed.
 */
export class BackendSession {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #onClosed: () => void;
  readonly #posts: SessionPosts;
  readonly #channel: SseChannel | undefined;
  #subscriptions: Subscriptions | undefined;
  #open: OpenSession | undefined;
  #opening: Promise<OpenSession> | undefined;
  readonly #calls = new SessionCalls();
  #parting: Parting | undefined;
  #stream: ServerStream | undefined;
  #isShared = false;
  readonly #idle = Promise.withResolvers<void>();

  constructor(settings: SessionSettings, clock: Clock, onClosed: () => void = () => {}) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onClosed = onClosed;
    this.#posts = new SessionPosts({ backend: settings.backend, clock, over: this.#over });
    if (settings.transport === 'sse')
      this.#channel = new SseChannel({ ...settings, clock, onLost: () => this.#lost() });
  }

  readonly #over = (fetch: Fetch): Fetch => this.#channel?.over(fetch) ?? fetch;

  /** The backend's response to the call, as it wrote it; a JSON-RPC error is a response too. Throws VmcpError. */
  request(call: BackendCall): Promise<Buffer> {
    return patiently(this.#clock, {
      backend: this.#settings.backend,
      silenceMs: call.silenceMs,
      signal: call.signal,
      work: (attention) => {
        this.#calls.begin(call, attention);
        return this.#exchange(call, call.isDeadline ? deadline(attention) : attention);
      },
      mayStillAnswer: () => this.#open !== undefined && !this.#posts.first,
      onGivenUp: (reason) => this.#giveUp(call, reason),
      onOver: () => this.#leave(call),
    });
  }

  /** Capabilities and revision the backend answered with; undefined before the first call. */
  get opened(): OpenSession | undefined {
    return this.#open;
  }

  /**
   * From now on everybody uses it: a session that the backend gave no id holds nothing that is anybody's. Whoever finds that it is over
   * gets a `SessionOverError`, since the next one may be one that does. False when the session has an id, or none is open.
   */
  share(): boolean {
    this.#isShared = this.#open !== undefined && !this.#open.hasId;
    return this.#isShared;
  }

  /** Lets calls that are under way finish, then tells the backend that the session is over, unless others go on with it. Never throws. */
  async close(parting: Parting = 'end'): Promise<void> {
    if (!this.#parting) {
      this.#parting = parting;
      this.#onClosed();
      if (this.#calls.size === 0) this.#idle.resolve();
    }
    this.#stream?.close();
    this.#subscriptions?.stop();
    await this.#idle.promise;
    await this.#posts.allTold();
    await this.#opening?.catch(() => {}); // Nobody waits for it any more; the backend would keep it.
    const open = this.#open;
    this.#open = undefined;
    if (this.#channel) return this.#channel.close();
    if (!open?.hasId || (this.#parting === 'leave' && open.saved)) return;
    await Promise.all([this.#posts.end(open, this.#settings.fetch), this.#forget(open).catch(() => {})]);
  }

  /** Goes on with what another replica has opened; `quietly`, to end it. Nothing happens when the session is open. */
  adopt(saved: SavedBackendSession, how?: 'quietly'): void {
    if (this.#open || this.#opening || this.#parting || this.#channel) return;
    const open = resumed(this.#settings.url, saved);
    if (how === 'quietly') this.#open = open;
    else this.#begin(open);
  }

  #leave(call: BackendCall): void {
    this.#calls.end(call);
    if (this.#parting && this.#calls.size === 0) this.#idle.resolve();
  }

  async #exchange(call: BackendCall, attention: Attention, how?: 'again'): Promise<Buffer> {
    const open = this.#open ?? (await this.#openFor(call, attention));
    if (call.session === 'kept' && !open.hasId) throw keepsNone(this.#settings.backend);
    if (call.subscription) await this.#noteSubscription(call.subscription, call.silenceMs);
    if (call.client?.era === 'modern') this.setLogLevel(call.client.logLevel);
    if (this.#posts.first) await this.#posts.first;
    let stream: CallStream | undefined; // Most answers are no streams.
    const onMessage = (message: Buffer) => (stream ??= this.#streamOf(call, open, attention)).hear(message);
    const backlog = () => stream?.backlog();
    let response: BackendResponse;
    try {
      response = await this.#post(call, open, { attention, onMessage, backlog });
    } finally {
      stream?.end();
    }
    if (response.status < 400 || how === 'again' || !(await this.#posts.isGone(open, response, call)))
      return answerIn(this.#settings.backend, response, call.id);
    if (this.#isShared) throw new SessionOverError(this.#settings.backend);
    if (this.#open === open) this.#open = undefined;
    await this.#forget(open);
    return this.#exchange(call, attention, 'again');
  }

  #post(
    { id, bytes: body, fetch }: BackendCall,
    { path, headers }: OpenSession,
    heard: Pick<BackendRequest, 'attention' | 'onMessage' | 'backlog'>,
  ): Promise<BackendResponse> {
    return this.#over(fetch)({ method: 'POST', path, headers, body, awaits: { id, isCall: true }, ...heard });
  }

  #streamOf({ id, fetch, client = nobody }: BackendCall, open: OpenSession, attention: Attention): CallStream {
    const { backend, onListChanged } = this.#settings;
    const reply = (response: Buffer): Promise<void> => this.#posts.tell(open, fetch, response);
    return new CallStream({ backend, id, attention, client, onListChanged, reply });
  }

  /** One handshake at a time; everybody who needs it waits for the same one. */
  async #openFor(opening: Pick<BackendCall, 'fetch' | 'silenceMs'>, attention?: Attention): Promise<OpenSession> {
    this.#opening ??= this.#handshake(opening).finally(() => {
      this.#opening = undefined;
    });
    const open = await this.#opening;
    attention?.heard();
    return open;
  }

  /** Waits by a patience of its own: others may want the session although the call that began it has been given up. */
  async #handshake({ fetch, silenceMs }: Pick<BackendCall, 'fetch' | 'silenceMs'>): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    const known = await memory?.recall(backend);
    const open = known
      ? resumed(url, known)
      : await this.#share(
          await this.#posts.bounded(silenceMs, (attention) => this.#introduce(fetch, attention)),
          fetch,
        );
    this.#begin(open);
    return open;
  }

  async #introduce(fetch: Fetch, attention: Attention): Promise<OpenSession> {
    if (!this.#channel) return handshake(this.#settings, fetch, attention);
    try {
      await this.#channel.open(fetch, attention);
      return { ...(await handshake(this.#settings, this.#over(fetch), attention)), hasId: true };
    } catch (error) {
      this.#channel.drop();
      throw error;
    }
  }

  #lost(): void {
    this.#open = undefined;
    this.#subscriptions?.lost();
  }

  async #noteSubscription(change: SubscriptionChange, silenceMs: number): Promise<void> {
    const { fetch } = this.#settings;
    this.#subscriptions ??= new Subscriptions({
      ...this.#settings,
      clock: this.#clock,
      tell: (request) => this.tell(request),
      reopen: async (again) => (this.#open || this.#parting ? undefined : this.#openFor({ fetch, silenceMs: again })),
    });
    this.#subscriptions.note(change, silenceMs);
    // Until the stream is open an update is told to nobody. The call has to be sent in any case before it is given up.
    if (change.kind === 'begins') await atMost(this.#clock, silenceMs / 2, this.#streamTried());
  }

  /** Over HTTP+SSE the stream is open anyway. */
  async #streamTried(): Promise<void> {
    if (!this.#channel) await this.#stream?.firstTried;
  }

  /** A backend without a stream of that kind may say the same: only one that does not know the session is worth a new one. */
  async #doubtSession(open: OpenSession): Promise<void> {
    if (!this.#subscriptions || this.#subscriptions.isEmpty) return;
    if (!(await this.#posts.isUnknown(open, this.#settings.fetch)) || this.#open !== open) return;
    this.#lost();
    await this.#forget(open).catch(() => {});
  }

  /** Of replicas that open a session at once, all go on with the first one's. */
  async #share(open: OpenSession, fetch: Fetch): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    if (!memory || !open.hasId) return open;
    const opened = keptOf(url, open);
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
    this.#subscriptions?.opened(this.#streamTried());
  }

  /** Opens the stream that the backend tells and asks things on, when the client can hear them. */
  listen(): void {
    const open = this.#open;
    const { backend, client, fetch, purpose, random, onListChanged } = this.#settings;
    if (!open || this.#stream || this.#parting) return;
    // Over HTTP+SSE the stream is open anyway, and whoever is asked on it has to answer.
    if (!this.#channel && !wantsStream(this.#settings, open)) return;
    this.#stream = new ServerStream({
      backend,
      clock: this.#clock,
      random,
      request: { method: 'GET', path: open.path, headers: streamHeaders(open), body: undefined },
      fetch: this.#over(fetch),
      attention: this.#channel ?? this.#calls,
      onListChanged,
      // Each session has a stream; that one of them is lost says nothing about the lists.
      onGap: purpose === 'listChanges' ? onListChanged : () => {},
      onUnknown: () => void this.#doubtSession(open),
      client: client ?? this.#calls.onlyClient,
      reply: (response) => this.#posts.tell(open, fetch, response),
    });
    this.#stream.start();
  }

  /** Nothing happens while the session is not open: it is told when it opens. */
  setLogLevel(level: string | undefined): void {
    if (this.#open && level !== undefined) this.#posts.tellLevel(this.#open, this.#settings.fetch, level);
  }

  /** Sends a message whose answer nobody waits for; nothing happens while the session is not open. */
  tell(message: Buffer): void {
    if (this.#open) void this.#posts.tell(this.#open, this.#settings.fetch, message);
  }

  async #giveUp(call: BackendCall, reason: VmcpError): Promise<void> {
    const open = this.#open;
    if (!open) return;
    // MCP "Cancellation": the one who gives up says so, whether the client did or time ran out.
    await this.#posts.tell(open, call.fetch, cancelledNotification(call.id, reason.message));
    if (this.#channel && reason.code === 'backend_timeout') void this.#doubt(this.#channel, open, call.fetch);
  }

  /** A stream whose other end has vanished looks like one on which nothing is said. */
  async #doubt(channel: SseChannel, open: OpenSession, fetch: Fetch): Promise<void> {
    if (!(await this.#posts.isAnswering(open, fetch)) && this.#open === open) channel.drop();
  }
}
