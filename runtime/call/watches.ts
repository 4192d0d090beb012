import type { Caller } from './caller.ts';
import type { Inbound } from './inbound.ts';

/** Receives the updates of a resource. */
export interface ResourceListener {
  readonly onUpdated: () => void;
  /** Called when updates end, since the backend is no longer served. */
  readonly onEnd: () => void;
}

/** A watched resource. */
export interface Watching {
  /**
   * Resolves when the backend has accepted the subscription, or has not answered and is asked again. Rejects when there
   * will be no updates: `backend_unavailable`, the backend refuses or cannot be reached; `busy`, too much is watched
   * there.
   */
  readonly confirmed: Promise<void>;
  readonly stop: () => void;
}

/** The client that watches. */
export interface Watcher {
  readonly caller: Caller;
  /** The request by which it does so. */
  readonly request?: Inbound | undefined;
}

/** Watches a resource. Undefined where no backend owns it, or the caller may not read it. */
export type WatchResource = (
  uri: string,
  watcher: Watcher,
  listener: ResourceListener,
) => Promise<Watching | undefined>;

/** Decides again about what the client of a session has subscribed to. */
export interface SubscriptionRights {
  /** Whether the subscription goes on. Where it does not, that is put on record. */
  readonly mayKeep: (uri: string, caller: Caller) => Promise<boolean>;
  /**
   * Whether an update of the resource may be told; a promise where that has to be decided. `uri` undefined: it cannot
   * be read.
   */
  readonly mayHear: (uri: string | undefined, caller: Caller) => boolean | Promise<boolean>;
}

/** The client that listens for tasks. */
export interface TaskListener extends Watcher {
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: Buffer;
}

/** Receives the notifications about tasks. */
export interface TaskEvents {
  /** Aborted when the client stops listening. */
  readonly signal: AbortSignal;
  /** Gets JSON text of the params of `notifications/tasks`, under the id that our clients know. */
  readonly onTold: (params: Buffer) => void;
  /** Called when notifications may be lost from now on. */
  readonly onEnd: () => void;
}

/** Resolves with the ids of those tasks whose notifications will be sent, in the same order. */
export type WatchTasks = (
  ids: readonly string[],
  listener: TaskListener,
  events: TaskEvents,
) => Promise<readonly string[]>;
