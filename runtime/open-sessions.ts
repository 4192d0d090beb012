import type { MayHave } from './admission.ts';
import { type BackendSet, type LinkMemory, SessionLinks } from './backends/index.ts';
import { ByteBudget } from './byte-budget.ts';
import type { SessionClient } from './call.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/index.ts';
import { EventLogs, SharedSessions, slackMs, Sessions } from './edge/index.ts';
import { LIMITS } from './limits.ts';
import type { Log } from './observe/index.ts';
import type { SessionStoreReport } from './status-report.ts';
import { replicaMessages, sessionName, sessionRecords, type Store } from './store/index.ts';

export interface OpenSessionsDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** An unguessable session id. */
  readonly newSessionId: () => string;
  /** 16 to 32 lower-case letters and digits, at random. */
  readonly newReplicaId: () => string;
  readonly backends: Pick<BackendSet, 'all'>;
  /** Where the sessions that replicas share are kept; stays open when these end. */
  readonly store: Store;
  /** Whether a client may still have what it has subscribed to at another replica. */
  readonly readmit: MayHave;
}

export interface OpenedSessions {
  readonly sessions: Sessions | SharedSessions;
  /** Resolves once sessions can be served. */
  readonly ready: Promise<void>;
  /** How the store is, where there is one beside the process. */
  readonly storeReport: () => SessionStoreReport | undefined;
}

/** Tells events of one replica from those of another. */
const LOG_PREFIX_CHARACTERS = 12;

/** spec: config.sessionStorage. In the process, or in a store that all replicas share. */
export const openSessions = (current: () => Config, deps: OpenSessionsDeps): OpenedSessions => {
  const config = current();
  // The idle time may change while the server runs, where sessions are kept may not.
  const limits = {
    count: LIMITS.sessions,
    get calls() {
      return current().extensions.callsPerSession;
    },
    get ttlMs() {
      return current().extensions.sessionTtl;
    },
  };
  const { clock, store, newSessionId: newId } = deps;
  const budget = new ByteBudget(LIMITS.resumableBytesTogether);
  const newLogs = ({ revision }: { readonly revision: string }): EventLogs | undefined => {
    const { streamResumption } = current().extensions;
    const prefix = newId().slice(0, LOG_PREFIX_CHARACTERS);
    const isPrimed = revision === '2025-11-25';
    return streamResumption && new EventLogs({ prefix, budget, isPrimed, maxBytes: streamResumption.maxBytes });
  };
  const newLinks = (client: SessionClient, memory?: LinkMemory): SessionLinks =>
    new SessionLinks({ speaksFor: () => client.caller, client, ...(memory && { memory }) });
  if (config.sessionStorage?.provider !== 'kvstore') {
    const sessions = new Sessions(limits, { clock, newId, newLinks, newLogs });
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
    newLinks,
    newLogs,
    store,
    recordsFor: (announceEnd) =>
      sessionRecords(store, bounds, {
        announceEnd,
        onCorrupt: (session) => deps.log.warn({ session }, 'the record of a session cannot be read; it is unknown now'),
      }),
    messagesFor: (listeners) => replicaMessages(store, listeners, deps.newReplicaId()),
    backends: () => deps.backends.all(),
    readmit: deps.readmit,
  });
  return {
    sessions,
    ready: Promise.all([store.firstAnswer, sessions.isLive]).then(() => undefined),
    storeReport: reportOf(store, clock),
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
