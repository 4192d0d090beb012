import type { SessionLinks } from '../backends/index.ts';
import { isSameCaller, type Caller } from '../call.ts';
import type { Clock, Timer } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { requestKey } from './request-id.ts';

/** One client's session, from `initialize` to DELETE or until it has been idle for too long. */
export class Session {
  readonly id: string;
  readonly caller: Caller;
  /** The protocol revision agreed on. */
  readonly revision: string;
  readonly links: SessionLinks;
  /** Calls under way, by their request key. */
  readonly #calls = new Map<string, AbortController>();
  usedAt: number;

  constructor({
    id,
    caller,
    revision,
    links,
    usedAt,
  }: Pick<Session, 'id' | 'caller' | 'revision' | 'links' | 'usedAt'>) {
    this.id = id;
    this.caller = caller;
    this.revision = revision;
    this.links = links;
    this.usedAt = usedAt;
  }

  get isIdle(): boolean {
    return this.#calls.size === 0;
  }

  /** A call begins; `end` must be called when it is over. Throws when one with the same id (JSON text) is still under way. */
  begin(id: Buffer): { readonly signal: AbortSignal; readonly end: () => void } {
    const key = requestKey(id);
    // MCP "Requests": an id must not be used twice in a session. Answers and cancellations could not be told apart.
    if (this.#calls.has(key)) throw new VmcpError('not_json_rpc', '"id" is that of a request still under way');
    if (this.#calls.size >= LIMITS.callsPerSession)
      throw new VmcpError('busy', `this session has ${LIMITS.callsPerSession} calls under way; wait for one of them`);
    const controller = new AbortController();
    this.#calls.set(key, controller);
    return { signal: controller.signal, end: () => void this.#calls.delete(key) };
  }

  /** Ends the call with this id (JSON text); nothing happens when it is already over. */
  cancel(id: Buffer, reason: VmcpError): void {
    this.#calls.get(requestKey(id))?.abort(reason);
  }

  cancelAll(reason: VmcpError): void {
    for (const controller of this.#calls.values()) controller.abort(reason);
  }
}

export interface SessionLimits {
  /** Idle time after which a session ends. */
  readonly ttlMs: number;
  /** One more ends a session that nothing was sent on since it was opened, or is refused. */
  readonly count: number;
}

export interface SessionDeps {
  readonly clock: Clock;
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** Where the session's backend sessions will be kept. */
  readonly newLinks: () => SessionLinks;
}

const SWEEP_MS = 60_000;
/** Opening a session costs its client nothing; one that is not used ends soon. */
const UNUSED_TTL_MS = 60_000;

/** The sessions of this process, in the order of their last use. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** Those that nothing was sent on yet, oldest first. */
  readonly #unused = new Set<Session>();
  readonly #limits: SessionLimits;
  readonly #deps: SessionDeps;
  readonly #ending = new Set<Promise<void>>();
  #sweep: Timer;

  constructor(limits: SessionLimits, deps: SessionDeps) {
    this.#limits = limits;
    this.#deps = deps;
    this.#sweep = this.#sweepLater();
  }

  get size(): number {
    return this.#sessions.size;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  create(caller: Caller, revision: string): Session {
    this.#endExpired();
    if (this.#sessions.size >= this.#limits.count) this.#makeRoom();
    const { newId, newLinks, clock } = this.#deps;
    const session = new Session({ id: newId(), caller, revision, links: newLinks(), usedAt: clock.now() });
    this.#sessions.set(session.id, session);
    this.#unused.add(session);
    return session;
  }

  /** The caller's session, its idle time begun anew. Unknown, expired and other callers' sessions are refused alike. */
  use(id: string, caller: Caller): Session {
    const session = this.#sessions.get(id);
    if (!session || this.#isExpired(session) || !isSameCaller(session.caller, caller)) {
      throw new VmcpError('session_not_found', 'no such session; initialize a new one');
    }
    session.usedAt = this.#deps.clock.now();
    this.#unused.delete(session);
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  end(session: Session): void {
    this.#sessions.delete(session.id);
    this.#unused.delete(session);
    session.cancelAll(new VmcpError('cancelled', 'the session has ended'));
    const closing = session.links.close().finally(() => this.#ending.delete(closing));
    this.#ending.add(closing);
  }

  cancelAllCalls(reason: VmcpError): void {
    for (const session of this.#sessions.values()) session.cancelAll(reason);
  }

  /** Ends all sessions and waits until their backends have been told. */
  async close(): Promise<void> {
    this.#sweep.cancel();
    for (const session of this.#sessions.values()) this.end(session);
    await Promise.all(this.#ending);
  }

  #sweepLater(): Timer {
    return this.#deps.clock.after(SWEEP_MS, () => {
      this.#endExpired();
      this.#sweep = this.#sweepLater();
    });
  }

  #isExpired(session: Session): boolean {
    const ttlMs = this.#unused.has(session) ? Math.min(UNUSED_TTL_MS, this.#limits.ttlMs) : this.#limits.ttlMs;
    return session.isIdle && this.#deps.clock.now() - session.usedAt >= ttlMs;
  }

  #endExpired(): void {
    for (const session of this.#unused) {
      if (!this.#isExpired(session)) break;
      this.end(session);
    }
    for (const session of this.#sessions.values()) {
      if (this.#deps.clock.now() - session.usedAt < this.#limits.ttlMs) return;
      if (session.isIdle) this.end(session);
    }
  }

  /** Nobody loses a session that is in use because others open many. */
  #makeRoom(): void {
    const [oldest] = this.#unused;
    if (!oldest) throw new VmcpError('overloaded', 'too many sessions are open; try again later');
    this.end(oldest);
  }
}
