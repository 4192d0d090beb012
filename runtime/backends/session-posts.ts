import type { Clock } from '../clock.ts';
import type { Attention, BackendResponse, Fetch } from '../outgoing/index.ts';
import type { OpenSession } from './handshake.ts';
import { deadline, patiently } from './patience.ts';
import { isAnswerTo } from './server-message.ts';
import { pingRequest, setLevelRequest } from './small-messages.ts';

export interface SessionPostsDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** What speaks over the session's transport. */
  readonly over: (fetch: Fetch) => Fetch;
}

/** How long a message without an answer may take. */
const TELL_MS = 5_000;

const PING_ID = Buffer.from('"vmcp-ping"');
const PING = { body: pingRequest(PING_ID), id: PING_ID };

/** What a session sends beside its calls. */
export class SessionPosts {
  readonly #deps: SessionPostsDeps;
  readonly #telling = new Set<Promise<unknown>>();
  #told: { readonly open: OpenSession; readonly level: string } | undefined;
  /** While it is there, calls have to wait for it: what is told has to be known before they are carried out. Never rejects. */
  first: Promise<void> | undefined;

  constructor(deps: SessionPostsDeps) {
    this.#deps = deps;
  }

  /** Sends a message whose answer nobody waits for. Never throws. */
  async tell(open: OpenSession, fetch: Fetch, body: Buffer): Promise<void> {
    const told = this.#send(open, fetch, { body }, TELL_MS).catch(() => 0);
    this.#telling.add(told);
    await told;
    this.#telling.delete(told);
  }

  /** Tells the least severe log message that is wanted; the calls after it wait until that is known. Never throws. */
  tellLevel(open: OpenSession, fetch: Fetch, level: string): void {
    if (!open.capabilities.logging || (this.#told?.open === open && this.#told.level === level)) return;
    this.#told = { open, level };
    const told = this.tell(open, fetch, setLevelRequest(level)).then(() => {
      if (this.first === told) this.first = undefined;
    });
    this.first = told;
  }

  /**
   * Resolves once nothing is being told any more, after 5 s at the longest: what a backend is told beside the end of the session, that a call is
   * cancelled for one, it may not look at any more. Never throws.
   */
  async allTold(): Promise<void> {
    await Promise.all(this.#telling);
  }

  /** Tells the backend that the session is over. Never throws. */
  async end({ path, headers }: OpenSession, fetch: Fetch): Promise<void> {
    const onMessage = (): 'other' => 'other';
    const work = (attention: Attention) =>
      fetch({ method: 'DELETE', path, headers, body: undefined, attention, onMessage, lane: 'control' });
    await this.bounded(TELL_MS, work).catch(() => undefined);
  }

  /**
   * Whether the backend refused a call because it does not know the session: 404 (MCP), or 400 as some servers answer after a
   * restart, also when they have begun to want an id. A 400 may as well be about the call, so a ping decides.
   */
  async isGone(
    open: OpenSession,
    { status }: BackendResponse,
    { fetch, silenceMs }: { readonly fetch: Fetch; readonly silenceMs: number },
  ): Promise<boolean> {
    if (status === 404 && open.hasId) return true;
    if (status !== 400 && status !== 404) return false;
    return this.#isUnknown(open, fetch, silenceMs);
  }

  /** Whether a backend that has refused something else does not know the session. Never throws. */
  async isUnknown(open: OpenSession, fetch: Fetch): Promise<boolean> {
    return this.#isUnknown(open, fetch, TELL_MS).catch(() => false);
  }

  async #isUnknown(open: OpenSession, fetch: Fetch, silenceMs: number): Promise<boolean> {
    const status = await this.#send(open, fetch, PING, silenceMs);
    return status === 400 || status === 404;
  }

  /** Whether anything that is sent is answered. */
  async isAnswering(open: OpenSession, fetch: Fetch): Promise<boolean> {
    const status = await this.#send(open, fetch, PING, TELL_MS).catch(() => undefined);
    return status !== undefined && status < 300;
  }

  /** `silenceMs` is all the time there is. */
  bounded<T>(silenceMs: number, work: (attention: Attention) => Promise<T>): Promise<T> {
    const { backend, clock } = this.#deps;
    return patiently(clock, { backend, silenceMs, work: (attention) => work(deadline(attention)) });
  }

  /** Sends a message whose answer matters only by its HTTP status. */
  async #send(
    { path, headers }: OpenSession,
    fetch: Fetch,
    { body, id }: { readonly body: Buffer; readonly id?: Buffer },
    silenceMs: number,
  ): Promise<number> {
    const onMessage = (bytes: Buffer): 'answer' | 'other' => (id && isAnswerTo(bytes, id) ? 'answer' : 'other');
    const awaits = id && { awaits: { id, isCall: false } };
    const response = await this.bounded(silenceMs, (attention) =>
      this.#deps.over(fetch)({ method: 'POST', path, headers, body, attention, onMessage, lane: 'control', ...awaits }),
    );
    return response.status;
  }
}
