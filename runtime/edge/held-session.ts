import type { MayHave } from '../admission.ts';
import type { Backend, LinkMemory, SessionLinks } from '../backends/index.ts';
import type { Caller, SessionClient } from '../call.ts';
import { atMost, type Clock } from '../clock.ts';
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
  readonly store: Pick<Store, 'state' | 'onState'>;
  readonly recordsFor: (announceEnd: (session: SessionRef) => Promise<void>) => SessionRecords;
  readonly messagesFor: (listeners: ReplicaListeners) => ReplicaMessages;
  /** As in `SessionDeps`. */
  readonly newLogs: (client: InitializedClient) => EventLogs | undefined;
  /** Those that sessions may have been opened with. */
  readonly backends: () => readonly Backend[];
  /** Whether the client may still have what it has subscribed to at another replica. */
  readonly readmit: MayHave;
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
  /** How often it was decided what to watch here: the last decision counts. */
  watchDecisions?: number;
  /** When a stream was last about to be opened. */
  preparedAt?: number;
  isEnding?: true;
}

/** How much later than its idle time a record may end: so much less often it is told of uses. */
export const slackMs = (ttlMs: number): number => ttlMs / 10;

const LISTENING_MS = 1_000;

/** Where the sessions with backends that other replicas have opened are written down. */
export interface OpenedElsewhere extends Watchable {
  readonly records: Pick<SessionRecords, 'find'>;
}

/** What a client may watch here that has subscribed to it at another replica. */
export interface Watchable {
  readonly backends: readonly Backend[];
  readonly readmit: MayHave;
}

/** Opens here what other replicas have opened with backends. True when that takes something over from them. */
export const gather = async (
  held: Held,
  { records, backends, readmit }: OpenedElsewhere,
  how?: 'quietly',
): Promise<boolean> => {
  const { ref, session } = held;
  const asOf = session.links.changes;
  const record = await records.find(ref);
  if (!record) return false;
  for (const backend of backends) {
    const saved = record.backendSessions.get(backend.name);
    if (saved) session.links.adopt(backend, saved, how);
  }
  return session.hasStreams && how !== 'quietly' && watchHere(held, { record, asOf }, { backends, readmit });
};

/** What another replica may have changed, and the client's own changes here until it was read. */
interface ReadRecord {
  readonly record: SessionRecord;
  readonly asOf: number;
}

/** Where the client listens is where its subscriptions are held. False where it does not listen, or has none. */
const watchHere = async (
  held: Held,
  { record: { subscriptions }, asOf }: ReadRecord,
  { backends, readmit }: Watchable,
): Promise<boolean> => {
  const { session } = held;
  const { caller } = session;
  const decision = (held.watchDecisions ?? 0) + 1;
  held.watchDecisions = decision;
  const wanted = await Promise.all(
    subscriptions.map(async ({ backend: name, uri }) => {
      const backend = session.hasStreams ? backends.find((each) => each.name === name) : undefined;
      return backend && (await leadsTo(backend, { uri, caller }, readmit)) ? [{ backend, uri }] : [];
    }),
  );
  if (held.watchDecisions !== decision) return false;
  session.links.watchOnly(wanted.flat(), caller, asOf);
  return wanted.flat().length > 0;
};

const leadsTo = async (
  { name: backend }: Backend,
  { uri, caller }: { readonly uri: string; readonly caller: Caller },
  readmit: MayHave,
): Promise<boolean> => {
  const access = { caller, method: 'resources/subscribe', names: 'resource', name: uri, origin: 'client' } as const;
  const target = await readmit(access);
  return target?.kind === 'backend' && target.backend === backend;
};

/** Hears what other replicas have for the client's own streams; waits a moment until it does. */
export const listenElsewhere = async (
  held: Held,
  messages: Pick<ReplicaMessages, 'listenForStream'>,
  clock: Clock,
): Promise<void> => {
  held.preparedAt = clock.now();
  held.subscription ??= messages.listenForStream(held.ref, (message) => void held.session.tellHere(message));
  await atMost(clock, LISTENING_MS, held.subscription.isLive);
};

/** Ends that where no stream is open, or about to be. */
export const stopListening = (held: Held, now: number): void => {
  const isPrepared = now - (held.preparedAt ?? 0) <= 2 * LISTENING_MS;
  if (!held.subscription || held.session.hasStreams || isPrepared) return;
  held.subscription.end();
  delete held.subscription;
};

/** What the client has asked another replica for, or has begun to listen to there. */
export const takeChange = async (held: Held, { records, ...watchable }: OpenedElsewhere): Promise<void> => {
  const asOf = held.session.links.changes;
  const record = await records.find(held.ref);
  if (!record) return;
  const { session } = held;
  const { logLevel } = record;
  void watchHere(held, { record, asOf }, watchable);
  if (logLevel !== undefined && logLevel !== session.logLevel) session.takeLogLevel(logLevel);
};
