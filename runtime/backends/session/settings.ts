import type { Caller, SessionClient } from '../../call/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import type { BackendSession as KeptSession, ResourceSubscription, SavedBackendSession } from '../../store/index.ts';

/** What one backend session is opened with. */
export interface SessionSettings {
  readonly backend: string;
  /** The backend's endpoint. */
  readonly url: string;
  readonly transport: Transport;
  /** Shown to the backend as `clientInfo`. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /**
   * The client that the session is for; absent: the backend can send it neither requests nor notifications between
   * calls.
   */
  readonly client?: SessionClient;
  /** JSON text of the capabilities of a client without a session, which backends may ask during calls. */
  readonly capabilities?: Buffer | undefined;
  /** Sends as the owner of the session, with the credential that is valid at the time of sending. */
  readonly fetch: Fetch;
  /** Whether a session that was lost may be reopened without a call that needs it. Absent: yes. */
  readonly mayReopen?: () => boolean;
  /** Called when a list of the backend has changed, or may have. */
  readonly onListChanged: () => void;
  /** The session only reads lists, or also receives notifications of changed ones; absent: it is for calls. */
  readonly purpose?: 'lists' | 'listChanges' | undefined;
  /** Keeps the session for other replicas; not over HTTP+SSE, where it ends with its stream. */
  readonly memory?: BackendSessionMemory;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

/** Options of one session. */
export interface SessionOptions {
  /** The owner of the session, by the token presented last. */
  readonly owner: () => Caller;
  /** As in `SessionSettings`. */
  readonly client?: SessionClient | undefined;
  /** As in `SessionSettings`. */
  readonly capabilities?: Buffer | undefined;
  readonly memory?: BackendSessionMemory | undefined;
  readonly onClosed?: () => void;
  readonly purpose?: SessionSettings['purpose'];
}

/** How a session is closed here; `leave`: other replicas continue to use it. */
export type CloseMode = 'end' | 'leave';

/** `sse`: HTTP+SSE of 2024-11-05. */
export type Transport = 'streamable-http' | 'sse';

/** Keeps backend sessions so that any replica can use them. All may throw `store_unavailable`. */
export interface BackendSessionMemory {
  readonly recall: (backend: string) => Promise<SavedBackendSession | undefined>;
  /**
   * Resolves with the session that all replicas use: another replica's, if that was saved first. Undefined when the
   * client's session has ended.
   */
  readonly save: (backend: string, opened: KeptSession) => Promise<SavedBackendSession | undefined>;
  readonly forget: (backend: string, gone: SavedBackendSession) => Promise<void>;
  readonly subscribe: (subscription: ResourceSubscription) => Promise<unknown>;
  readonly unsubscribe: (subscription: ResourceSubscription) => Promise<unknown>;
}
