import type { Backend } from '../backends/index.ts';
import { sleep, type Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';
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
  readonly store: Pick<Store, 'state' | 'onState' | 'close'>;
  readonly recordsFor: (announceEnd: (session: string) => Promise<void>) => SessionRecords;
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

/** Opens here what other replicas have opened with backends. */
export const gather = async (
  { ref, session }: Held,
  { records, backends }: OpenedElsewhere,
  how?: 'quietly',
): Promise<void> => {
  const record = await records.find(ref);
  if (!record) return;
  for (const backend of backends) {
    const saved = record.backendSessions.get(backend.name);
    if (saved) session.links.adopt(backend, { saved, caller: ref.caller }, how);
  }
};

/** Hears what other replicas have for the client's own streams; waits a moment until it does. */
export const listenElsewhere = async (
  held: Held,
  messages: Pick<ReplicaMessages, 'listenForStream'>,
  clock: Clock,
): Promise<void> => {
  held.subscription ??= messages.listenForStream(held.name, (message) => void held.session.tellHere(message));
  const enough = new AbortController();
  await Promise.race([held.subscription.isLive, sleep(clock, LISTENING_MS, enough.signal)]);
  enough.abort();
};

/** The level that the client has asked another replica for. */
export const takeLogLevel = ({ session }: Held, record: SessionRecord | undefined): void => {
  const { logLevel } = record ?? {};
  if (logLevel !== undefined && logLevel !== session.logLevel) session.takeLogLevel(logLevel);
};

export const notFound = (): VmcpError => new VmcpError('session_not_found', 'no such session; initialize a new one');
