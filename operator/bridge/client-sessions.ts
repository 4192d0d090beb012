import type { Clock, Timer } from '../../runtime/process/index.ts';
import { noSuchSession } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { BOUNDS } from './bounds.ts';
import { ClientSession } from './client-session.ts';

export interface ClientSessionsDeps {
  readonly clock: Clock;
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  readonly onEnd: (session: ClientSession) => void;
}

const SWEEP_MS = 60_000;

/** The clients of one server, in the order of their last use. */
export class ClientSessions {
  readonly #deps: ClientSessionsDeps;
  readonly #sessions = new Map<string, ClientSession>();
  #sweep: Timer;

  constructor(deps: ClientSessionsDeps) {
    this.#deps = deps;
    this.#sweep = this.#sweepLater();
  }

  isKnown(id: string): boolean {
    return this.#sessions.has(id);
  }

  all(): Iterable<ClientSession> {
    return this.#sessions.values();
  }

  /** `capabilities` is JSON text. */
  create(capabilities: Buffer): ClientSession {
    if (this.#sessions.size >= BOUNDS.sessions) this.#makeRoom();
    const session = new ClientSession(this.#deps.newId(), capabilities, this.#deps.clock.now());
    this.#sessions.set(session.id, session);
    return session;
  }

  /** Its idle time begins anew. Throws `session_not_found`. */
  use(id: string): ClientSession {
    const session = this.#sessions.get(id);
    if (!session) throw noSuchSession();
    session.isUnused = false;
    this.markUsed(session);
    return session;
  }

  /** Idle time begins with the last use, and with the end of what was under way. */
  markUsed(session: ClientSession): void {
    session.usedAt = this.#deps.clock.now();
    if (this.#sessions.delete(session.id)) this.#sessions.set(session.id, session);
  }

  end(session: ClientSession): void {
    if (!this.#sessions.delete(session.id)) return;
    session.end(new VmcpError('cancelled', 'the session has ended'));
    this.#deps.onEnd(session);
  }

  /** Clients learn it from the 404 to their next request, after which they initialize anew. */
  endAll(): void {
    for (const session of this.#sessions.values()) this.end(session);
  }

  close(): void {
    this.#sweep.cancel();
    this.endAll();
  }

  #sweepLater(): Timer {
    return this.#deps.clock.after(SWEEP_MS, () => {
      for (const session of this.#sessions.values()) if (this.#isExpired(session)) this.end(session);
      this.#sweep = this.#sweepLater();
    });
  }

  #isExpired(session: ClientSession): boolean {
    const ttlMs = session.isUnused ? BOUNDS.unusedSessionMs : BOUNDS.sessionTtlMs;
    return session.isIdle && this.#deps.clock.now() - session.usedAt >= ttlMs;
  }

  /** Only an unused session makes room: a session in use never ends because other clients open many. */
  #makeRoom(): void {
    for (const session of this.#sessions.values()) if (session.isUnused && session.isIdle) return this.end(session);
    throw new VmcpError('overloaded', 'too many sessions are open; try again later');
  }
}
