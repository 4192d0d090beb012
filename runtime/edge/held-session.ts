import type { Backend, LinkMemory, SessionLinks } from '../backends/index.ts';
import type { SessionClient } from '../call.ts';
import { sleep, type Clock } from '../clock.ts';
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
import type { InitializedClient, Session } from './session.ts';

export interface SharedSessionsDeps {
  readonly clock: Clock;
  /** An id of at least 128 random bits. */
  readonly newId: () => string;
  /** The name of a session among replicas. */
  readonly nameOf: (session: SessionRef) => string;
  /** Where the session's backend sessions will be kept. */
  readonly newLinks: (client: SessionClient, memory: LinkMemory) => SessionLinks;
  readonly store: Pick<Store, 'state' | 'onState' | 'close'>;
  readonly recordsFor: (announceEnd: (session: SessionRef) => Promise<void>) => SessionRecords;
  readonly messagesFor: (listeners: ReplicaListeners) => ReplicaMessages;
  /** As in `SessionDeps`. */
  readonly newLogs: (client: InitializedClient) => EventLogs | undefined;
  /** Those that sessions may have been opened with. */
  readonly backends: () => readonly Backend[];
}

/** A session that this replica knows. */
export interface Held {
  readonly ref: SessionRef;
  readonly name: string;
  readonly session: Session;
  /** When its record was last known to be there. */
  confirmedAt: number;
  /** What other replicas have for the client's own streams. */
  subscription?: Subscription;
  /** When a stream was last about to be opened. */
  preparedAt?: number;
  isEnding?: true;
}

/** How much later than its idle time a record may end: so much less often it is told of uses. */
export const slackMs = (ttlMs: number): number => ttlMs / 10;

const LISTENING_MS = 1_000;

/** Where the sessions with backends that other replicas have opened are written down. */
export interface OpenedElsewhere {
  readonly records: Pick<SessionRecords, 'find'>;
  readonly backends: readonly Backend[];
}

/** Opens here what other replicas have opened with backends. True when that takes something over from them. */
export const gather = async (
  { ref, session }: Held,
  { records, backends }: OpenedElsewhere,
  how?: 'quietly',
): Promise<boolean> => {
  const record = await records.find(ref);
  if (!record) return false;
  for (const backend of backends) {
    const saved = record.backendSessions.get(backend.name);
    if (saved) session.links.adopt(backend, { saved, caller: ref.caller }, how);
  }
  return session.hasStreams && how !== 'quietly' && watchHere({ ref, session }, record, backends);
};

/** Where the client listens is where its subscriptions are held. False where it does not listen, or has none. */
const watchHere = (
  { ref, session }: Pick<Held, 'ref' | 'session'>,
  { subscriptions }: SessionRecord,
  backends: readonly Backend[],
): boolean => {
  const wanted = subscriptions.flatMap(({ backend: name, uri }) => {
    const backend = backends.find((each) => each.name === name);
    return backend && session.hasStreams ? [{ backend, uri }] : [];
  });
  session.links.watchOnly(wanted, ref.caller);
  return wanted.length > 0;
};

/** Hears what other replicas have for the client's own streams; waits a moment until it does. */
export const listenElsewhere = async (
  held: Held,
  messages: Pick<ReplicaMessages, 'listenForStream'>,
  clock: Clock,
): Promise<void> => {
  held.preparedAt = clock.now();
  held.subscription ??= messages.listenForStream(held.ref, (message) => void held.session.tellHere(message));
  const enough = new AbortController();
  await Promise.race([held.subscription.isLive, sleep(clock, LISTENING_MS, enough.signal)]);
  enough.abort();
};

/** Ends that where no stream is open, or about to be. */
export const stopListening = (held: Held, now: number): void => {
  const isPrepared = now - (held.preparedAt ?? 0) <= 2 * LISTENING_MS;
  if (!held.subscription || held.session.hasStreams || isPrepared) return;
  held.subscription.end();
  delete held.subscription;
};

/** What the client has asked another replica for, or has begun to listen to there. */
export const takeChange = (held: Held, record: SessionRecord | undefined, backends: readonly Backend[]): void => {
  if (!record) return;
  const { session } = held;
  const { logLevel } = record;
  watchHere(held, record, backends);
  if (logLevel !== undefined && logLevel !== session.logLevel) session.takeLogLevel(logLevel);
};
