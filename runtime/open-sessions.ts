import type { Caller, MayHave, SessionClient, SubscriptionRights } from './call/index.ts';
import { type BackendSet, type BackendSessionMemory, ClientBackendSessions } from './backends/index.ts';
import { ByteBudget, type Clock } from './process/index.ts';
import type { Config } from './config/index.ts';
import { EventLogs, SharedSessions, slackMs, Sessions } from './edge/index.ts';
import { LIMITS } from './limits.ts';
import type { Log } from './observe/index.ts';
import type { SessionStoreReport } from './status/index.ts';
import {
  replicaMessages,
  sessionName,
  type SessionRecords,
  sessionRecords,
  type SessionRef,
  type Store,
} from './store/index.ts';

export interface OpenSessionsDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** An unguessable session id. */
  readonly newSessionId: () => string;
  /** 16 to 32 lower-case letters and digits, at random. */
  readonly newReplicaId: () => string;
  readonly backends: Pick<BackendSet, 'all' | 'listenForLists'>;
  /** Holds the sessions that replicas share; stays open when the sessions end. */
  readonly store: Store;
  /** Whether a client may still read a resource that it has subscribed to at another replica. */
  readonly readmit: MayHave;
  readonly rights: SubscriptionRights;
  /** Whether the access of the caller was ended since. */
  readonly isEnded: (caller: Caller, sinceMs: number) => boolean;
  /** Whether some token of the caller is valid. */
  readonly isValid: (caller: Caller) => boolean;
}

export interface OpenedSessions {
  readonly sessions: Sessions | SharedSessions;
  /** Resolves once sessions can be served. */
  readonly ready: Promise<void>;
  /** State of the session store; undefined where sessions are kept in the process. */
  readonly storeReport: () => SessionStoreReport | undefined;
}

/** Length of the prefix by which events of replicas are told apart. */
const LOG_PREFIX_CHARACTERS = 12;

/** docs/configuration.md "sessionStorage". Keeps sessions in the process, or in a store that all replicas share. */
export const openSessions = (current: () => Config, deps: OpenSessionsDeps): OpenedSessions => {
  const config = current();
  // A reload may change the idle time, but not where sessions are kept.
  const limits = {
    count: LIMITS.sessions,
    get calls() {
      return current().extensions.callsPerSession;
    },
    get ttlMs() {
      return current().extensions.sessionTtl;
    },
  };
  const { clock, store, newSessionId: newId, isValid } = deps;
  const budget = new ByteBudget(LIMITS.resumableBytesTogether);
  const newLogs = ({ revision }: { readonly revision: string }): EventLogs | undefined => {
    const { streamResumption } = current().extensions;
    const prefix = newId().slice(0, LOG_PREFIX_CHARACTERS);
    const isPrimed = revision === '2025-11-25';
    return streamResumption && new EventLogs({ prefix, budget, isPrimed, maxBytes: streamResumption.maxBytes });
  };
  const newBackendSessions = backendSessionsOf(deps);
  if (config.sessionStorage?.provider !== 'kvstore') {
    const sessions = new Sessions(limits, { clock, newId, newBackendSessions, newLogs, isValid });
    return { sessions, ready: Promise.resolve(), storeReport: () => undefined };
  }
  const bounds = {
    count: limits.count,
    unusedTtlMs: LIMITS.unusedSessionMs,
    get ttlMs() {
      return limits.ttlMs + slackMs(limits.ttlMs);
    },
  };
  const sessions: SharedSessions = new SharedSessions(limits, {
    clock,
    newId,
    nameOf: sessionName,
    newBackendSessions,
    newLogs,
    store,
    recordsFor: (announceEnd) => recordsOf(bounds, announceEnd, deps),
    messagesFor: (listeners) => replicaMessages(store, listeners, deps.newReplicaId()),
    backends: () => deps.backends.all(),
    readmit: deps.readmit,
    isValid,
  });
  return {
    sessions,
    ready: Promise.all([store.firstAnswer, sessions.isLive]).then(() => undefined),
    storeReport: reportOf(store, clock),
  };
};

const backendSessionsOf =
  ({ rights, backends: { listenForLists } }: OpenSessionsDeps) =>
  (client: SessionClient, memory?: BackendSessionMemory): ClientBackendSessions =>
    new ClientBackendSessions({
      owner: () => client.caller,
      client,
      rights,
      listenForLists,
      ...(memory && { memory }),
    });
/** The records of sessions; one that is older than the end of its user's access is none. */
const recordsOf = (
  bounds: Parameters<typeof sessionRecords>[1],
  announceEnd: (session: SessionRef) => Promise<void>,
  { store, log, isEnded }: OpenSessionsDeps,
): SessionRecords => {
  const records = sessionRecords(store, bounds, {
    announceEnd,
    onCorrupt: (session) => log.warn({ session }, 'the record of a session cannot be read; it is unknown now'),
  });
  return {
    ...records,
    find: async (ref) => {
      const record = await records.find(ref);
      return record && isEnded(ref.caller, record.createdAt) ? undefined : record;
    },
  };
};

const reportOf = (store: Store, { now }: Clock): (() => SessionStoreReport) => {
  const since = (): string => new Date(now()).toISOString();
  let report: SessionStoreReport = { state: store.state(), since: since() };
  store.onState((state, reason) => {
    report = { state, since: since(), ...(reason && { reason }) };
  });
  return () => report;
};
