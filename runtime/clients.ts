import { type BackendSet, UserBackendSessions } from './backends/index.ts';
import type { Caller } from './call/index.ts';
import type { LiveCatalog } from './catalog/index.ts';
import type { LiveConfig } from './config/index.ts';
import { HeldCalls, Listeners, listChangedNotifications, RemoteHeldCalls, SseConnections } from './edge/index.ts';
import { LIMITS } from './limits.ts';
import type { Log } from './observe/index.ts';
import { type OpenedSessions, openSessions } from './open-sessions.ts';
import type { Clock } from './process/index.ts';
import type { WatchRights } from './readmission.ts';
import type { Store } from './store/index.ts';
import { resourceWatcher, taskWatcher } from './watches.ts';

export interface ClientParts {
  readonly config: LiveConfig;
  readonly backends: BackendSet;
  readonly log: Log;
  readonly store: Store;
  readonly rights: WatchRights;
  /** The caller with a token that is valid; undefined where there is none. */
  readonly current: (caller: Caller) => Caller | undefined;
  /** As in `OpenSessionsDeps`. */
  readonly isEnded: (caller: Caller, sinceMs: number) => boolean;
  readonly onSessionsReady: () => void;
}

export interface ClientDeps {
  readonly clock: Clock;
  readonly newSessionId: () => string;
  readonly newReplicaId: () => string;
}

/** What stays open for clients beyond one request. */
export interface Clients {
  readonly sessions: OpenedSessions['sessions'];
  readonly storeReport: OpenedSessions['storeReport'];
  readonly connections: SseConnections;
  readonly heldCalls: HeldCalls;
  readonly callers: UserBackendSessions;
  readonly listeners: Listeners;
}

export const clientsOf = (parts: ClientParts, deps: ClientDeps): Clients => {
  const { config, backends, log, store, rights, current, isEnded, onSessionsReady } = parts;
  const { clock, newSessionId: newId } = deps;
  const { sessions, ready, storeReport } = openSessions(config.current, {
    ...deps,
    log,
    backends,
    store,
    isEnded,
    isValid: (caller) => current(caller) !== undefined,
    readmit: rights.readmit,
    rights: rights.subscriptions,
  });
  void ready.then(onSessionsReady);
  const isShared = config.current().sessionStorage?.provider === 'kvstore';
  const endSession = (id: string): void => sessions.endById(id);
  return {
    sessions,
    storeReport,
    connections: new SseConnections({ newId, endSession, limit: LIMITS.sseConnections }),
    heldCalls: new HeldCalls({
      clock,
      newId,
      remote: isShared ? new RemoteHeldCalls({ store, clock, newId }) : undefined,
      ttlMs: () => config.current().extensions.heldCallTtl,
    }),
    callers: new UserBackendSessions({
      clock,
      idleMs: () => config.current().extensions.sessionTtl,
      users: LIMITS.sessions,
    }),
    listeners: new Listeners({
      limit: LIMITS.listeners,
      watchTasks: taskWatcher(rights.mayHave, backends),
      watchResource: resourceWatcher(rights.mayHave, backends),
      mayWatch: rights.mayWatch,
      listenForLists: backends.listenForLists,
      current,
    }),
  };
};

/** Notifies clients of changed lists. */
export const tellOfLists = (liveCatalog: LiveCatalog, { sessions, listeners }: Clients): void =>
  void liveCatalog.onListsChanged((kinds, caller) => {
    listeners.listsChanged(kinds, caller);
    for (const notification of listChangedNotifications(kinds)) sessions.notifyAll(notification, caller);
  });
