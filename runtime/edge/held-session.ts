import type { MayHave, Caller, ClientAnswer, SessionClient } from '../call/index.ts';
import type { Backend, BackendSessionMemory, ClientBackendSessions } from '../backends/index.ts';
import { VmcpError } from '../errors.ts';
import { atMost, type Clock } from '../process/index.ts';
import type {
  ReplicaListeners,
  ReplicaMessages,
  SessionRecord,
  SessionRecords,
  SessionRef,
  Store,
  Subscription,
} from '../store/index.ts';
import type { EventLogs } from './event-log.ts';
import { memoryOf, replicaPeersOf } from './replica-peers.ts';
import type { InitializedClient } from './initialized-client.ts';
import { objectToRetirement } from './retirements.ts';
import { Session, type SessionParts } from './session.ts';

export interface SharedSessionsDeps {
  readonly clock: Clock;
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** The name of a session among replicas. */
  readonly nameOf: (session: SessionRef) => string;
  /** Makes the set of backend sessions of one client session; `memory` is where other replicas find them. */
  readonly newBackendSessions: (client: SessionClient, memory: BackendSessionMemory) => ClientBackendSessions;
  readonly store: Pick<Store, 'state' | 'onState'>;
  readonly recordsFor: (announceEnd: (session: SessionRef) => Promise<void>) => SessionRecords;
  readonly messagesFor: (listeners: ReplicaListeners) => ReplicaMessages;
  /** As in `SessionDeps`. */
  readonly newLogs: (client: InitializedClient) => EventLogs | undefined;
  /** The backends that sessions may have been opened with. */
  readonly backends: () => readonly Backend[];
  /** Whether the client may still read a resource that it has subscribed to at another replica. */
  readonly readmit: MayHave;
  /** As in `SessionParts`. */
  readonly isValid?: (caller: Caller) => boolean;
}

/** A session that this replica has in memory. */
export interface LoadedSession {
  readonly ref: SessionRef;
  readonly name: string;
  readonly session: Session;
  /** When the session's record was last known to exist, in ms. */
  confirmedAt: number;
  /** Receives the other replicas' messages for the client's own streams. */
  subscription?: Subscription;
  /** Number of decisions about what to watch here: a decision is discarded when a later one has begun. */
  watchDecisions?: number;
  /** When a stream was last about to be opened. */
  preparedAt?: number;
  isEnding?: true;
}

export interface NewSession extends Pick<SessionParts, 'client' | 'limits' | 'onIdle'> {
  readonly ref: SessionRef;
  readonly records: SessionRecords;
  readonly messages: ReplicaMessages;
  /** The session itself, once it is in memory and as long as it is. */
  readonly held: () => LoadedSession | undefined;
  readonly remoteSession: () => RemoteSession;
}

/** A session that other replicas serve, too. */
export const newSharedSession = (
  { ref, records, messages, client, limits, onIdle, held, remoteSession }: NewSession,
  { clock, newBackendSessions, newLogs, isValid }: SharedSessionsDeps,
): Session =>
  new Session({
    ...ref,
    client,
    clock,
    limits,
    onIdle,
    isValid,
    logs: newLogs(client),
    peers: replicaPeersOf({
      ref,
      records,
      messages,
      listen: async () => {
        const known = held();
        if (known) await listenAtReplicas(known, messages, clock);
      },
      gather: async () => {
        const known = held();
        if (known && (await gather(known, remoteSession()))) await messages.announceChange(ref);
      },
    }),
    newBackendSessions: (of) =>
      newBackendSessions(
        of,
        memoryOf(ref, records, () => messages.announceChange(ref)),
      ),
  });

/** A session that is being read from its record. */
export interface LoadingSession {
  readonly ref: SessionRef;
  readonly session: Promise<Session>;
  isEnded?: true;
}

/** False where the session that is being loaded is unknown. */
export const isFound = async (loading: LoadingSession['session']): Promise<boolean> => {
  try {
    await loading;
    return true;
  } catch (error) {
    if (error instanceof VmcpError && error.code === 'session_not_found') return false;
    throw error;
  }
};

/** How much longer than the idle time (`ttlMs`) a session's record lives, so that not every use has to renew it. */
export const slackMs = (ttlMs: number): number => ttlMs / 10;

const LISTENING_MS = 1_000;

/** Finds the backend sessions that other replicas have opened. */
export interface RemoteSession extends Watchable {
  readonly records: Pick<SessionRecords, 'find' | 'takeBackRetirement'>;
}

/** Decides which subscriptions that a client made at another replica are watched here. */
export interface Watchable {
  readonly backends: readonly Backend[];
  readonly readmit: MayHave;
}

/**
 * Adopts the backend sessions that other replicas have opened. True when this replica takes over subscriptions from
 * them.
 */
export const gather = async (
  held: LoadedSession,
  { records, backends, readmit }: RemoteSession,
  how?: 'quietly',
): Promise<boolean> => {
  const { ref, session } = held;
  const asOf = session.backendSessions.changes;
  const record = await records.find(ref);
  if (!record) return false;
  for (const backend of backends) {
    const saved = record.backendSessions.get(backend.name);
    if (saved) session.backendSessions.adopt(backend, saved, how);
  }
  return session.underWay.streams > 0 && how !== 'quietly' && watchHere(held, { record, asOf }, { backends, readmit });
};

/** A record that another replica may have changed, and the number of the client's changes here before it was read. */
interface ReadRecord {
  readonly record: SessionRecord;
  readonly asOf: number;
}

/**
 * The replica at which the client has a stream open watches its subscriptions. False where the client has no stream
 * here, or no subscriptions.
 */
const watchHere = async (
  held: LoadedSession,
  { record: { subscriptions }, asOf }: ReadRecord,
  { backends, readmit }: Watchable,
): Promise<boolean> => {
  const { session } = held;
  const { caller } = session;
  const decision = (held.watchDecisions ?? 0) + 1;
  held.watchDecisions = decision;
  const wanted = await Promise.all(
    subscriptions.map(async ({ backend: name, uri }) => {
      const backend = session.underWay.streams > 0 ? backends.find((each) => each.name === name) : undefined;
      return backend && (await routesTo(backend, { uri, caller }, readmit)) ? [{ backend, uri }] : [];
    }),
  );
  if (held.watchDecisions !== decision) return false;
  session.backendSessions.watchOnly(wanted.flat(), caller, asOf);
  return wanted.flat().length > 0;
};

const routesTo = async (
  { name: backend }: Backend,
  { uri, caller }: { readonly uri: string; readonly caller: Caller },
  readmit: MayHave,
): Promise<boolean> => {
  const access = { caller, method: 'resources/subscribe', names: 'resource', name: uri, origin: 'client' } as const;
  const target = await readmit(access);
  return target?.kind === 'backend' && target.backend === backend;
};

/** Receives the other replicas' messages for the client's own streams; waits up to LISTENING_MS until they arrive. */
const listenAtReplicas = async (
  held: LoadedSession,
  messages: Pick<ReplicaMessages, 'listenForStream'>,
  clock: Clock,
): Promise<void> => {
  held.preparedAt = clock.now();
  held.subscription ??= messages.listenForStream(held.ref, (message) => void held.session.sendOnStreamHere(message));
  await atMost(clock, LISTENING_MS, held.subscription.isLive);
};

/** Ends what `listenAtReplicas` began, unless a stream is open or about to be opened. */
export const stopListening = (held: LoadedSession, now: number): void => {
  const isPrepared = now - (held.preparedAt ?? 0) <= 2 * LISTENING_MS;
  if (!held.subscription || held.session.underWay.streams > 0 || isPrepared) return;
  held.subscription.end();
  delete held.subscription;
};

/**
 * Takes over what the client has changed at another replica: its log level and its subscriptions. A session that
 * another replica is about to end goes on where its caller is known here.
 */
const takeChange = async (held: LoadedSession, { records, ...watchable }: RemoteSession): Promise<void> => {
  const asOf = held.session.backendSessions.changes;
  const record = await records.find(held.ref);
  if (!record) return;
  const { session } = held;
  const { logLevel } = record;
  objectToRetirement(held, record, records);
  void watchHere(held, { record, asOf }, watchable);
  if (logLevel !== undefined && logLevel !== session.logLevel) session.takeLogLevel(logLevel);
};

export interface KnownSessions {
  readonly held: (name: string) => LoadedSession | undefined;
  /** Also of a session that is being loaded. */
  readonly refOf: (name: string) => SessionRef | undefined;
  readonly onEnded: (name: string) => void;
  readonly remoteSession: () => RemoteSession;
}

/** What the messages of other replicas do to the sessions of this one. */
export const replicaListeners = ({ held, refOf, onEnded, remoteSession }: KnownSessions): ReplicaListeners => ({
  sessionOf: refOf,
  answered: ({ session, ask, outcome, payload }) => {
    const answer: ClientAnswer =
      outcome === 'result' ? { kind: outcome, result: payload } : { kind: outcome, error: payload };
    held(session)?.session.settleHere(JSON.stringify(ask), answer);
  },
  sessionEnded: onEnded,
  sessionChanged: (name) => {
    const changed = held(name);
    if (changed) void takeChange(changed, remoteSession()).catch(() => {});
  },
  requestCancelled: (name, requestId) =>
    void held(name)?.session.cancelHere(requestId, new VmcpError('cancelled_by_client', 'cancelled by the client')),
});

/** Sessions looked at to find one that can make room. */
const MAX_LOOKED_AT = 64;

/** The first session that is idle, of the least recently used ones. */
export const oldestIdle = (sessions: Iterable<LoadedSession>): LoadedSession | undefined =>
  Iterator.from(sessions)
    .take(MAX_LOOKED_AT)
    .find(({ session }) => session.isIdle);
