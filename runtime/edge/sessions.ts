import type { ClientBackendSessions } from '../backends/index.ts';
import { accessEnded, isSameCaller, type Caller, type OpenFor, type SessionClient } from '../call/index.ts';
import { type Clock, eachOf, type Timer } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import type { EventLogs } from './event-log.ts';
import { LIMITS } from '../limits.ts';
import type { InitializedClient } from './initialized-client.ts';
import { Session } from './session.ts';

/** Limits of sessions; idle time in ms. */
export interface SessionLimits {
  /** Idle time after which a session ends. */
  readonly ttlMs: number;
  /** One session more ends one that has had no request since `initialize`, or is refused. */
  readonly count: number;
  /** Calls of each session under way at a time; further calls wait. May change. */
  readonly calls: number;
}

export interface SessionDeps {
  readonly clock: Clock;
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** Makes the set of backend sessions of one client session. */
  readonly newBackendSessions: (client: SessionClient) => ClientBackendSessions;
  /** Makes the event logs of one session; undefined where streams are not resumed. */
  readonly newLogs?: (client: InitializedClient) => EventLogs | undefined;
  /** As in `SessionParts`. */
  readonly isValid?: (caller: Caller) => boolean;
}

const SWEEP_MS = 60_000;
/** A session may end too early by this part of its idle time, and by no more than TOUCH_MS. */
const TOUCH_PART = 0.001;
const TOUCH_MS = 1_000;

/** The error for unknown, expired and other callers' sessions alike. */
export const noSuchSession = (): VmcpError =>
  new VmcpError('session_not_found', 'no such session; initialize a new one');

/** The sessions of this process, in the order of their last use. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** Sessions that have had no request since `initialize`, oldest first. */
  readonly #unused = new Set<Session>();
  readonly #limits: SessionLimits;
  readonly #deps: SessionDeps;
  readonly #ending = new Set<Promise<void>>();
  /** Sessions that are over but for their calls under way. */
  readonly #retired = new Set<Session>();
  #sweep: Timer;

  constructor(limits: SessionLimits, deps: SessionDeps) {
    this.#limits = limits;
    this.#deps = deps;
    this.#sweep = this.#sweepLater();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether the session with this id exists and is the caller's. */
  isKnown(id: string, caller: Caller): boolean | Promise<boolean> {
    const session = this.#sessions.get(id);
    return session !== undefined && isSameCaller(session.caller, caller);
  }

  create(caller: Caller, client: InitializedClient): Session {
    this.#endExpired();
    if (this.#sessions.size >= this.#limits.count) this.#makeRoom();
    const { newId, newBackendSessions, newLogs, clock, isValid } = this.#deps;
    const session = new Session({
      id: newId(),
      caller,
      client,
      newBackendSessions,
      logs: newLogs?.(client),
      clock,
      limits: this.#limits,
      onIdle: (idle) => this.#touch(idle, clock.now()),
      isValid,
    });
    this.#sessions.set(session.id, session);
    this.#unused.add(session);
    return session;
  }

  /** The caller's session, its idle time begun anew. Unknown, expired and other callers' sessions are refused alike. */
  use(id: string, caller: Caller): Session {
    const session = this.#sessions.get(id);
    const now = this.#deps.clock.now();
    if (!session || this.#isExpired(session, now) || !isSameCaller(session.caller, caller)) {
      throw noSuchSession();
    }
    session.presentedBy(caller);
    this.#unused.delete(session);
    this.#touch(session, now);
    return session;
  }

  /** Restarts the idle time: at each use, and when the last call or stream ends. */
  #touch(session: Session, now: number): void {
    // A busy session need not be moved to the end of the map at every call.
    if (Math.abs(now - session.usedAt) < Math.min(this.#limits.ttlMs * TOUCH_PART, TOUCH_MS)) return;
    session.usedAt = now;
    if (this.#sessions.delete(session.id)) this.#sessions.set(session.id, session);
  }

  /** Ends the session with this id, when there is one. */
  endById(id: string): void {
    const session = this.#sessions.get(id);
    if (session) this.end(session);
  }

  end(session: Session, reason = new VmcpError('cancelled', 'the session has ended')): void {
    session.end(reason);
    this.#close(session);
  }

  /** Ends a session without its calls under way: those get their answers. */
  retire(session: Session): void {
    session.retire();
    this.#retired.add(session);
    this.#close(session);
  }

  #close(session: Session): void {
    this.#sessions.delete(session.id);
    this.#unused.delete(session);
    const closing = session.backendSessions.close().finally(() => {
      this.#ending.delete(closing);
      this.#retired.delete(session);
    });
    this.#ending.add(closing);
  }

  /** The sessions, for a check of their callers. */
  openFor(): readonly OpenFor[] {
    return [...this.#sessions.values()].map((session) =>
      sessionOpenFor(session, (why) => {
        const isKnown = this.#sessions.get(session.id) === session;
        if (isKnown && why === 'revoked') this.end(session, accessEnded());
        else if (isKnown) this.retire(session);
        return isKnown;
      }),
    );
  }

  /** Decides again about every subscription; resolves with the number of those that end. */
  readmit(): Promise<number> {
    return readmitAll([...this.#sessions.values()]);
  }

  /**
   * Sends a notification to every client that has a stream open, or has lost one that it can resume; with `caller`, to
   * those of this caller alone.
   */
  notifyAll(notification: Buffer, caller?: Caller): void {
    for (const session of this.#sessions.values())
      if (!caller || isSameCaller(session.caller, caller)) session.sendOnStreamHere(notification);
  }

  cancelAllCalls(reason: VmcpError): void {
    for (const session of [...this.#sessions.values(), ...this.#retired]) session.cancelAll(reason);
  }

  /** Ends all sessions and waits until their backend sessions are closed. */
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

  #isExpired(session: Session, now: number): boolean {
    const ttlMs = this.#unused.has(session) ? Math.min(LIMITS.unusedSessionMs, this.#limits.ttlMs) : this.#limits.ttlMs;
    return session.isIdle && now - session.usedAt >= ttlMs;
  }

  #endExpired(): void {
    const now = this.#deps.clock.now();
    for (let unused = this.#oldestUnused(); unused && this.#isExpired(unused, now); unused = this.#oldestUnused())
      this.end(unused);
    for (const session of this.#sessions.values()) {
      if (now - session.usedAt < this.#limits.ttlMs) return;
      if (session.isIdle) this.end(session);
    }
  }

  /** The oldest session without a request that is idle; a session with a stream is in use. */
  #oldestUnused(): Session | undefined {
    for (const session of this.#unused) {
      if (session.isIdle) return session;
      this.#unused.delete(session);
    }
    return undefined;
  }

  /** Ends an unused session; a session in use is never ended because other clients open many. */
  #makeRoom(): void {
    const oldest = this.#oldestUnused();
    if (!oldest) throw new VmcpError('overloaded', 'too many sessions are open; try again later');
    this.end(oldest);
  }
}

/** A session as what stays open for its caller; `end` ends it. */
export const sessionOpenFor = (session: Session, end: OpenFor['end']): OpenFor => {
  const { caller, id, underWay } = session;
  return {
    caller,
    method: 'DELETE',
    sessionId: id,
    underWay,
    keep: (verified) => void (session.caller === caller && session.presentedBy(verified)),
    // A newer token that was presented meanwhile was taken by the authentication in force.
    end: (why) => session.caller === caller && end(why),
  };
};

/** Decides again about the subscriptions of these sessions; resolves with the number of those that end. */
export const readmitAll = async (sessions: readonly Session[]): Promise<number> => {
  let ended = 0;
  await eachOf(
    sessions.filter(({ backendSessions }) => backendSessions.hasSubscriptions),
    async ({ backendSessions }) => {
      ended += await backendSessions.readmit();
    },
  );
  return ended;
};
