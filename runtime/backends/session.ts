import type { SessionClient } from '../call.ts';
import type { Clock } from '../clock.ts';
import type { VmcpError } from '../errors.ts';
import type { Attention, BackendResponse, Fetch } from '../outgoing/index.ts';
import type { SavedBackendSession } from '../store/index.ts';
import { answerIn, SessionOverError } from './session-answer.ts';
import { CallStream, nobody, type HeardBy } from './call-stream.ts';
import { canBeAsked, handshake, streamHeaders, type OpenSession } from './handshake.ts';
import { deadline, patiently } from './patience.ts';
import { keptOf, type LinkMemory, resumed } from './session-memory.ts';
import { isAnswerTo } from './server-message.ts';
import { ServerStream } from './server-stream.ts';
import { cancelledNotification, refusalOf, setLevelRequest } from './small-messages.ts';

export interface SessionSettings {
  readonly backend: string;
  /** The backend's endpoint. */
  readonly url: string;
  /** Shown to the backend as `clientInfo`. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Whom the session is for; absent: nobody whom a backend could ask or tell something. */
  readonly client?: SessionClient;
  /** A list of the backend has changed, or may have. */
  readonly onListChanged: () => void;
  /** The session is there to hear of changed lists. */
  readonly hearsOfLists?: true;
  /** Keeps the session for other replicas. */
  readonly memory?: LinkMemory;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

/** `leave`: other replicas go on with it. */
export type Parting = 'end' | 'leave';

export interface BackendCall {
  /** A whole JSON-RPC request. */
  readonly bytes: Buffer;
  /** JSON text of its id. */
  readonly id: Buffer;
  readonly silenceMs: number;
  /** `silenceMs` is all the time there is, whatever the backend says meanwhile. */
  readonly isDeadline?: true;
  readonly signal: AbortSignal;
  /** Hears and answers what the backend says before its answer. */
  readonly client?: HeardBy;
  /** The exchange with the caller's proof around it. */
  readonly fetch: Fetch;
}

/**
 * One MCP session with a backend (Streamable HTTP, revisions up to 2025-11-25). Opened by its first call, opened anew once when the
 * backend no longer knows it, ended with DELETE. Never repeats a call that may have been executed.
 */
export class BackendSession {
  readonly #settings: SessionSettings;
  readonly #clock: Clock;
  readonly #onClosed: () => void;
  #open: OpenSession | undefined;
  #opening: Promise<OpenSession> | undefined;
  #fetch: Fetch | undefined;
  #active = 0;
  #parting: Parting | undefined;
  #stream: ServerStream | undefined;
  #isShared = false;
  readonly #idle = Promise.withResolvers<void>();

  constructor(settings: SessionSettings, clock: Clock, onClosed: () => void = () => {}) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onClosed = onClosed;
  }

  /** The backend's response to the call, as it wrote it; a JSON-RPC error is a response too. Throws VmcpError. */
  async request(call: BackendCall): Promise<Buffer> {
    this.#active += 1;
    try {
      return await patiently(this.#clock, {
        backend: this.#settings.backend,
        silenceMs: call.silenceMs,
        signal: call.signal,
        work: (attention) => this.#exchange(call, call.isDeadline ? deadline(attention) : attention),
        onGivenUp: (reason) => this.#tellCancelled(call, reason),
      });
    } catch (error) {
      throw refusalOf(this.#settings.backend, error);
    } finally {
      this.#leave();
    }
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
      if (this.#active === 0) this.#idle.resolve();
    }
    this.#stream?.close();
    await this.#idle.promise;
    const open = this.#open;
    this.#open = undefined;
    if (!open?.hasId || !this.#fetch || (this.#parting === 'leave' && open.saved)) return;
    await Promise.all([this.#delete(open, this.#fetch), this.#forget(open).catch(() => {})]);
  }

  /** Goes on with what another replica has opened; `quietly`, to end it. Nothing happens when the session is open. */
  adopt(saved: SavedBackendSession, fetch: Fetch, how?: 'quietly'): void {
    if (this.#open || this.#opening || this.#parting) return;
    const open = resumed(this.#settings.url, saved);
    if (how === 'quietly') [this.#open, this.#fetch] = [open, fetch];
    else this.#begin(open, fetch);
  }

  #leave(): void {
    this.#active -= 1;
    if (this.#parting && this.#active === 0) this.#idle.resolve();
  }

  async #exchange(call: BackendCall, attention: Attention): Promise<Buffer> {
    const open = this.#open ?? (await this.#openFor(call, attention));
    const response = await this.#post(open, call, attention);
    if (response.status < 400 || !(await this.#isGone(open, response, call)))
      return answerIn(this.#settings.backend, response, call.id);
    if (this.#isShared) throw new SessionOverError(this.#settings.backend);
    if (this.#open === open) this.#open = undefined;
    await this.#forget(open);
    const renewed = this.#open ?? (await this.#openFor(call, attention));
    return answerIn(this.#settings.backend, await this.#post(renewed, call, attention), call.id);
  }

  /** One handshake at a time; everybody who needs it waits for the same one. */
  async #openFor(call: BackendCall, attention: Attention): Promise<OpenSession> {
    this.#opening ??= this.#handshake(call).finally(() => {
      this.#opening = undefined;
    });
    const open = await this.#opening;
    attention.heard();
    return open;
  }

  /** Waits by a patience of its own: others may want the session although the call that began it has been given up. */
  async #handshake({ fetch, silenceMs }: BackendCall): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    const known = await memory?.recall(backend);
    const open = known
      ? resumed(url, known)
      : await this.#share(
          await this.#bounded(silenceMs, (attention) => handshake(this.#settings, fetch, attention)),
          fetch,
        );
    this.#begin(open, fetch);
    return open;
  }

  /** Of replicas that open a session at once, all go on with the first one's. */
  async #share(open: OpenSession, fetch: Fetch): Promise<OpenSession> {
    const { backend, memory, url } = this.#settings;
    if (!memory || !open.hasId) return open;
    const opened = keptOf(url, open);
    const saved = await memory.save(backend, opened);
    if (!saved) return open;
    if (saved.sessionId === opened.sessionId) return { ...open, saved };
    void this.#delete(open, fetch);
    return resumed(url, saved);
  }

  async #forget({ saved }: OpenSession): Promise<void> {
    if (saved) await this.#settings.memory?.forget(this.#settings.backend, saved);
  }

  #begin(open: OpenSession, fetch: Fetch): void {
    this.#open = open;
    this.#fetch = fetch;
    this.#stream?.close();
    this.#stream = undefined;
    const { client } = this.#settings;
    if (client?.logLevel !== undefined) this.setLogLevel(client.logLevel);
    this.listen();
  }

  /** Opens the stream that the backend tells and asks things on, when somebody is there to hear them. */
  listen(): void {
    const open = this.#open;
    const fetch = this.#fetch;
    const { backend, client, hearsOfLists, random, onListChanged } = this.#settings;
    const isHeard =
      (hearsOfLists && open?.capabilities.listChanged) ?? (client && (client.isListening || canBeAsked(client)));
    if (!open || !fetch || this.#stream || this.#parting || !isHeard) return;
    this.#stream = new ServerStream({
      backend,
      clock: this.#clock,
      random,
      request: { method: 'GET', path: open.path, headers: streamHeaders(open), body: undefined },
      fetch,
      onListChanged,
      client: client ?? nobody,
      reply: (response) => this.#tell(open, fetch, response),
    });
    this.#stream.start();
  }

  /** Nothing happens while the session is not open: it is told when it opens. */
  setLogLevel(level: string): void {
    if (this.#open?.capabilities.logging) this.tell(setLevelRequest(level));
  }

  /** Sends a message whose answer nobody waits for; nothing happens while the session is not open. */
  tell(message: Buffer): void {
    if (this.#open && this.#fetch) void this.#tell(this.#open, this.#fetch, message);
  }

  #post(open: OpenSession, call: BackendCall, attention: Attention): Promise<BackendResponse> {
    const reply = (response: Buffer): Promise<void> => this.#tell(open, call.fetch, response);
    const { backend } = this.#settings;
    const stream = new CallStream({ backend, id: call.id, attention, client: call.client ?? nobody, reply });
    const response = call.fetch({
      method: 'POST',
      path: open.path,
      headers: open.headers,
      body: call.bytes,
      attention,
      onMessage: stream.hear,
    });
    return response.finally(stream.end);
  }

  /**
   * Whether the backend refused the call because it does not know the session: 404 (MCP), or 400 as some servers answer after a
   * restart, also when they have begun to want an id. A 400 may as well be about the call, so a ping decides.
   */
  async #isGone(open: OpenSession, response: BackendResponse, call: BackendCall): Promise<boolean> {
    if (response.status === 404 && open.hasId) return true;
    if (response.status !== 400 && response.status !== 404) return false;
    const probe = await this.#send(open, call.fetch, PING, call.silenceMs);
    return probe === 400 || probe === 404;
  }

  async #tellCancelled(call: BackendCall, reason: VmcpError): Promise<void> {
    // MCP "Cancellation": the one who gives up says so, whether the client did or time ran out.
    if (this.#open) await this.#tell(this.#open, call.fetch, cancelledNotification(call.id, reason.message));
  }

  async #tell(open: OpenSession, fetch: Fetch, body: Buffer): Promise<void> {
    await this.#send(open, fetch, { body }, TELL_MS).catch(() => 0);
  }

  async #delete({ path, headers }: OpenSession, fetch: Fetch): Promise<void> {
    const onMessage = (): 'other' => 'other';
    const work = (attention: Attention) =>
      fetch({ method: 'DELETE', path, headers, body: undefined, attention, onMessage, lane: 'control' });
    await this.#bounded(TELL_MS, work).catch(() => undefined);
  }

  /** Sends a message whose answer matters only by its HTTP status. */
  async #send(
    open: OpenSession,
    fetch: Fetch,
    message: { body: Buffer; id?: Buffer },
    silenceMs: number,
  ): Promise<number> {
    const onMessage = (bytes: Buffer): 'answer' | 'other' =>
      message.id && isAnswerTo(bytes, message.id) ? 'answer' : 'other';
    const { path, headers } = open;
    const response = await this.#bounded(silenceMs, (attention) =>
      fetch({ method: 'POST', path, headers, body: message.body, attention, onMessage, lane: 'control' }),
    );
    return response.status;
  }

  #bounded<T>(silenceMs: number, work: (attention: Attention) => Promise<T>): Promise<T> {
    const { backend } = this.#settings;
    return patiently(this.#clock, { backend, silenceMs, work: (attention) => work(deadline(attention)) });
  }
}

/** How long a message without an answer may take. */
const TELL_MS = 5_000;

const PING = {
  body: Buffer.from('{"jsonrpc":"2.0","id":"vmcp-ping","method":"ping"}'),
  id: Buffer.from('"vmcp-ping"'),
};
