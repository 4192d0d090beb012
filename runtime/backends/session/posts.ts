import type { Clock } from '../../process/index.ts';
import type { IdleTimeout, BackendResponse, Fetch } from '../../outgoing/index.ts';
import type { OpenSession } from './handshake.ts';
import { deadline, withIdleTimeout } from '../messages/idle-timeout.ts';
import { isAnswerTo } from '../messages/server-message.ts';
import { pingRequest, setLevelRequest } from '../messages/small-messages.ts';

export interface SessionPostsDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** Wraps a fetch so that it uses the session's transport. */
  readonly over: (fetch: Fetch) => Fetch;
}

/** Time limit of a message whose response is ignored. */
const POST_MS = 5_000;

const PING_ID = Buffer.from('"vmcp-ping"');
const PING = { body: pingRequest(PING_ID), id: PING_ID };
const LEVEL_ID = Buffer.from('"vmcp-level"');

/** The messages that a session sends beside its calls. */
export class SessionPosts {
  readonly #deps: SessionPostsDeps;
  readonly #posting = new Set<Promise<unknown>>();
  #lastLevel: { readonly open: OpenSession; readonly fetch: Fetch; readonly level: string } | undefined;
  /**
   * While it is set, calls wait for it: the backend has to know the log level before it executes them. Never rejects.
   */
  pendingLevel: Promise<void> | undefined;

  constructor(deps: SessionPostsDeps) {
    this.#deps = deps;
  }

  /**
   * Sends a message whose response is ignored. With `id`, that of a request, it resolves once the backend has answered:
   * over HTTP+SSE a message that was taken may be executed after the next one. Never throws.
   */
  async post(open: OpenSession, fetch: Fetch, body: Buffer, id?: Buffer): Promise<void> {
    const told = this.#send(open, fetch, { body, ...(id && { id }) }, POST_MS).catch(() => 0);
    this.#posting.add(told);
    await told;
    this.#posting.delete(told);
  }

  /**
   * Sends `logging/setLevel`, unless the session has this level already; later calls wait until the backend has
   * answered. Of levels that follow while one is on its way, the last one is sent after it. Never throws.
   */
  postLogLevel(open: OpenSession, fetch: Fetch, level: string): void {
    if (!open.capabilities.logging || (this.#lastLevel?.open === open && this.#lastLevel.level === level)) return;
    this.#lastLevel = { open, fetch, level };
    this.pendingLevel ??= this.#sendLevels().finally(() => {
      this.pendingLevel = undefined;
    });
  }

  async #sendLevels(): Promise<void> {
    for (let sent: unknown; this.#lastLevel && this.#lastLevel !== sent;) {
      const { open, fetch, level } = this.#lastLevel;
      sent = this.#lastLevel;
      await this.post(open, fetch, setLevelRequest(LEVEL_ID, level), LEVEL_ID);
    }
  }

  /**
   * Resolves once all messages are sent, after 5 s at the latest: a backend may ignore a message, such as a
   * cancellation, that arrives beside the end of the session. Never throws.
   */
  async allPosted(): Promise<void> {
    await Promise.all(this.#posting);
  }

  /** Ends the session at the backend with DELETE. Never throws. */
  async end({ path, headers }: OpenSession, fetch: Fetch): Promise<void> {
    const onMessage = (): 'other' => 'other';
    const work = (idleTimeout: IdleTimeout) =>
      fetch({ method: 'DELETE', path, headers, body: undefined, idleTimeout, onMessage, lane: 'control' });
    await this.bounded(POST_MS, work).catch(() => undefined);
  }

  /**
   * Whether the backend refused a call because it does not know the session: 404 (MCP), or 400 as some servers answer
   * after a restart, also when they now require an id. A 400 may as well be about the call, so a ping decides.
   */
  async isGone(
    open: OpenSession,
    { status }: BackendResponse,
    { fetch, idleTimeoutMs }: { readonly fetch: Fetch; readonly idleTimeoutMs: number },
  ): Promise<boolean> {
    if (status === 404 && open.hasId) return true;
    if (status !== 400 && status !== 404) return false;
    return this.#isUnknown(open, fetch, idleTimeoutMs);
  }

  /** Whether the backend no longer knows the session, after it has refused another request. Never throws. */
  async isUnknown(open: OpenSession, fetch: Fetch): Promise<boolean> {
    return this.#isUnknown(open, fetch, POST_MS).catch(() => false);
  }

  async #isUnknown(open: OpenSession, fetch: Fetch, idleTimeoutMs: number): Promise<boolean> {
    const status = await this.#send(open, fetch, PING, idleTimeoutMs);
    return status === 400 || status === 404;
  }

  /** Whether the backend answers a ping. */
  async isAnswering(open: OpenSession, fetch: Fetch): Promise<boolean> {
    const status = await this.#send(open, fetch, PING, POST_MS).catch(() => undefined);
    return status !== undefined && status < 300;
  }

  /** Runs `work` with `idleTimeoutMs` as its deadline. */
  bounded<T>(idleTimeoutMs: number, work: (idleTimeout: IdleTimeout) => Promise<T>): Promise<T> {
    const { backend, clock } = this.#deps;
    return withIdleTimeout(clock, { backend, idleTimeoutMs, work: (idleTimeout) => work(deadline(idleTimeout)) });
  }

  /** Sends a message and resolves with the HTTP status of the response. */
  async #send(
    { path, headers }: OpenSession,
    fetch: Fetch,
    { body, id }: { readonly body: Buffer; readonly id?: Buffer },
    idleTimeoutMs: number,
  ): Promise<number> {
    const onMessage = (bytes: Buffer): 'answer' | 'other' => (id && isAnswerTo(bytes, id) ? 'answer' : 'other');
    const awaits = id && { awaits: { id, isCall: false } };
    const response = await this.bounded(idleTimeoutMs, (idleTimeout) =>
      this.#deps.over(fetch)({
        method: 'POST',
        path,
        headers,
        body,
        idleTimeout,
        onMessage,
        lane: 'control',
        ...awaits,
      }),
    );
    return response.status;
  }
}
