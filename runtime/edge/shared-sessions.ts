import { accessEnded, isSameCaller, type Caller, type EndReason, type OpenFor } from '../call/index.ts';
import type { Timer } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import type { ReplicaMessages, SessionRecords, SessionRef } from '../store/index.ts';
import {
  gather,
  isFound,
  type LoadedSession,
  type LoadingSession,
  newSharedSession,
  oldestIdle,
  type RemoteSession,
  replicaListeners,
  type SharedSessionsDeps,
  slackMs,
  stopListening,
} from './held-session.ts';
import type { InitializedClient } from './initialized-client.ts';
import { objectToRetirement, Retirements } from './retirements.ts';
import type { Session } from './session.ts';
import { noSuchSession, readmitAll, type SessionLimits, sessionOpenFor } from './sessions.ts';

const SWEEP_MS = 60_000;

/**
 * Sessions that every replica can serve. A replica keeps in memory the sessions that it served lately; the record in
 * the store says whether a session still exists and lets any replica load it. A session that this replica drops from
 * memory continues at the others.
 */
export class SharedSessions {
  readonly #limits: SessionLimits;
  readonly #deps: SharedSessionsDeps;
  readonly #messages: ReplicaMessages;
  readonly #records: SessionRecords;
  /** Sessions in memory by id, least recently used first. */
  readonly #held = new Map<string, LoadedSession>();
  readonly #byName = new Map<string, LoadedSession>();
  readonly #loading = new Map<string, LoadingSession>();
  readonly #closing = new Set<Promise<void>>();
  /** Sessions that are over here but for their calls under way. */
  readonly #retired = new Set<LoadedSession>();
  readonly #retirements: Retirements;
  /** Time in ms since which the store was connected: messages of other replicas before it may have been missed. */
  #connectedSince = 0;
  #sweep: Timer;

  constructor(limits: SessionLimits, deps: SharedSessionsDeps) {
    this.#limits = limits;
    this.#deps = deps;
    this.#messages = deps.messagesFor(
      replicaListeners({
        held: (name) => this.#byName.get(name),
        refOf: (name) => (this.#byName.get(name) ?? this.#loading.get(name))?.ref,
        onEnded: (name) => this.#endedElsewhere(name),
        remoteSession: () => this.#remoteSession,
      }),
    );
    this.#records = deps.recordsFor(this.#messages.announceEnd);
    const [messages, records] = [this.#messages, this.#records];
    this.#retirements = new Retirements({ ...deps, messages, records, end: (ref) => this.#endRetired(ref) });
    deps.store.onState((state) => {
      if (state === 'up') this.#connectedSince = deps.clock.now();
    });
    this.#sweep = this.#sweepLater();
  }

  /** Resolves when this replica receives the messages of the others. */
  get isLive(): Promise<void> {
    return this.#messages.isLive;
  }

  get #remoteSession(): RemoteSession {
    return { records: this.#records, backends: this.#deps.backends(), readmit: this.#deps.readmit };
  }

  get size(): number {
    return this.#held.size;
  }

  /** Whether the session exists and is the caller's; a promise when this replica has not served it lately. */
  isKnown(id: string, caller: Caller): boolean | Promise<boolean> {
    const held = this.#held.get(id);
    return held ? isSameCaller(held.ref.caller, caller) : isFound(this.#load({ id, caller }));
  }

  async create(caller: Caller, client: InitializedClient): Promise<Session> {
    this.#makeRoom();
    const { newId, clock } = this.#deps;
    const ref = { id: newId(), caller };
    const { revision, capabilities, clientName } = client;
    await this.#records.create(ref, { revision, capabilities, clientName, createdAt: clock.now() });
    // The record expires soon unless the session is used, so the first use has to renew it.
    return this.#hold(ref, this.#deps.nameOf(ref), client, clock.now() - slackMs(this.#limits.ttlMs)).session;
  }

  /** The caller's session, its idle time begun anew. Unknown, expired and other callers' sessions are refused alike. */
  use(id: string, caller: Caller): Session | Promise<Session> {
    const held = this.#held.get(id);
    if (!held) return this.#load({ id, caller }).then((session) => session.presentedBy(caller));
    if (!isSameCaller(held.ref.caller, caller)) throw noSuchSession();
    held.session.presentedBy(caller);
    this.#touch(held);
    const now = this.#deps.clock.now();
    const isFresh = now - held.confirmedAt < slackMs(this.#limits.ttlMs);
    if (isFresh && held.confirmedAt >= this.#connectedSince) return held.session;
    // While the store is unreachable, sessions in memory are served; they are confirmed once it is back.
    if (this.#deps.store.state() === 'down') return held.session;
    const confirmed = this.#confirm(held);
    if (held.confirmedAt < this.#connectedSince) return confirmed.then(() => held.session);
    held.confirmedAt = now;
    void confirmed.catch(() => {});
    return held.session;
  }

  /** Restarts the idle time: at each use, and when the last call or stream ends. */
  #touch(held: LoadedSession): void {
    held.session.usedAt = this.#deps.clock.now();
    if (this.#held.get(held.ref.id) !== held) return;
    this.#held.delete(held.ref.id);
    this.#held.set(held.ref.id, held);
  }

  /** Ends the session at every replica. */
  async end(session: Session): Promise<void> {
    const held = this.#held.get(session.id);
    if (!held) return;
    held.isEnding = true;
    try {
      await gather(held, this.#remoteSession, 'quietly');
      await this.#records.end(held.ref);
    } catch (error) {
      delete held.isEnding;
      throw error;
    }
    this.#drop(held, 'end');
  }

  endById(id: string): void {
    const held = this.#held.get(id);
    if (held) void this.end(held.session).catch(() => {});
  }

  /** Sends a notification to every client (`to`: of this caller) that has a stream open at this replica. */
  notifyAll(notification: Buffer, to?: Caller): void {
    for (const { session } of this.#held.values())
      if (!to || isSameCaller(session.caller, to)) session.sendOnStreamHere(notification);
  }

  cancelAllCalls(reason: VmcpError): void {
    for (const { session } of [...this.#held.values(), ...this.#retired]) session.cancelAll(reason);
  }

  /** The sessions in memory, for a check of their callers. */
  openFor(): readonly OpenFor[] {
    return [...this.#held.values()].map((held) =>
      sessionOpenFor(held.session, (why) => {
        const isHeld = this.#held.get(held.ref.id) === held;
        if (isHeld) this.#retire(held, why);
        return isHeld;
      }),
    );
  }

  /** Decides again about every subscription at this replica; resolves with the number of those that end. */
  readmit(): Promise<number> {
    return readmitAll([...this.#held.values()].map(({ session }) => session));
  }

  /** Leaves a session but for its calls under way; one whose caller no replica knows ends at all of them soon. */
  #retire(held: LoadedSession, why: EndReason): void {
    if (why === 'revoked') {
      held.session.cancelAll(accessEnded());
      void this.#records.end(held.ref).catch(() => {});
    }
    this.#retired.add(held);
    this.#drop(held, why === 'revoked' ? 'end' : 'leave', 'retired');
    if (why === 'unknown') this.#retirements.begin(held.ref);
  }

  async #endRetired(ref: SessionRef): Promise<void> {
    if (!this.#held.has(ref.id)) await this.end(await this.#load(ref));
  }

  /** Leaves all sessions to the other replicas, and waits until that is done. */
  async close(): Promise<void> {
    this.#sweep.cancel();
    for (const held of this.#held.values()) this.#drop(held, 'leave');
    await Promise.all(this.#closing);
    this.#messages.close();
  }

  #load(ref: SessionRef): Promise<Session> {
    const name = this.#deps.nameOf(ref);
    const loading = this.#loading.get(name);
    if (loading) return loading.session;
    const session = this.#read(ref, name).finally(() => this.#loading.delete(name));
    this.#loading.set(name, { ref, session });
    return session;
  }

  async #read(ref: SessionRef, name: string): Promise<Session> {
    const now = this.#deps.clock.now();
    const record = await this.#records.find(ref);
    if (!record || this.#loading.get(name)?.isEnded) throw noSuchSession();
    this.#makeRoom();
    const held = this.#hold(ref, name, record, now);
    held.session.logLevel = record.logLevel;
    objectToRetirement(held, record, this.#records);
    return held.session;
  }

  #hold(ref: SessionRef, name: string, client: InitializedClient, confirmedAt: number): LoadedSession {
    const parts = {
      ref,
      client,
      records: this.#records,
      messages: this.#messages,
      limits: this.#limits,
      onIdle: () => this.#touch(held),
      held: () => this.#byName.get(name),
      remoteSession: () => this.#remoteSession,
    };
    const session: Session = newSharedSession(parts, this.#deps);
    const held: LoadedSession = { ref, name, session, confirmedAt };
    this.#held.set(ref.id, held);
    this.#byName.set(name, held);
    return held;
  }

  async #confirm(held: LoadedSession): Promise<void> {
    const before = held.confirmedAt;
    const now = this.#deps.clock.now();
    try {
      const isThere = await this.#records.keepAlive(held.ref);
      held.confirmedAt = Math.max(held.confirmedAt, now);
      if (isThere) return;
    } catch (error) {
      held.confirmedAt = before;
      throw error;
    }
    this.#drop(held, 'end');
    throw noSuchSession();
  }

  #endedElsewhere(name: string): void {
    const loading = this.#loading.get(name);
    if (loading) loading.isEnded = true;
    const held = this.#byName.get(name);
    if (held && !held.isEnding) this.#drop(held, 'leave');
  }

  /** `leave`: other replicas continue the session, or have ended it. */
  #drop(held: LoadedSession, how: 'end' | 'leave', calls?: 'retired'): void {
    this.#held.delete(held.ref.id);
    this.#byName.delete(held.name);
    held.subscription?.end();
    if (calls === 'retired') held.session.retire();
    else held.session.end(new VmcpError('cancelled', 'the session has ended'));
    const parting = held.session.backendSessions.close(how).finally(() => {
      this.#closing.delete(parting);
      this.#retired.delete(held);
    });
    this.#closing.add(parting);
  }

  /** Drops an idle session from memory. Its record stays, and the replica that gets its next request reads it again. */
  #makeRoom(): void {
    if (this.#held.size < this.#limits.count) return;
    const idle = oldestIdle(this.#held.values());
    if (!idle) throw new VmcpError('overloaded', 'too many sessions are open; try again later');
    this.#drop(idle, 'leave');
  }

  #sweepLater(): Timer {
    return this.#deps.clock.after(Math.min(SWEEP_MS, slackMs(this.#limits.ttlMs)), () => {
      for (const held of this.#held.values()) this.#checkExpiry(held);
      this.#sweep = this.#sweepLater();
    });
  }

  /** A session with a stream or a call is not idle, though nothing is sent on it. */
  #checkExpiry(held: LoadedSession): void {
    const { session } = held;
    const now = this.#deps.clock.now();
    const slack = slackMs(this.#limits.ttlMs);
    stopListening(held, now);
    if (!session.isIdle && now - held.confirmedAt >= slack) void this.#confirm(held).catch(() => {});
    if (session.isIdle && now - session.usedAt >= this.#limits.ttlMs + slack) void this.#expire(held);
  }

  async #expire(held: LoadedSession): Promise<void> {
    const { usedAt } = held.session;
    const isThere = await this.#records.isThere(held.ref).catch(() => true);
    if (!held.session.isIdle || held.session.usedAt !== usedAt || !this.#byName.has(held.name)) return;
    this.#drop(held, isThere ? 'leave' : 'end');
  }
}
