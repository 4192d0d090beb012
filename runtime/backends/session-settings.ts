import type { SessionClient } from '../call.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { LinkMemory } from './session-memory.ts';

export interface SessionSettings {
  readonly backend: string;
  /** The backend's endpoint. */
  readonly url: string;
  readonly transport: Transport;
  /** Shown to the backend as `clientInfo`. */
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Whom the session is for; absent: nobody whom a backend could ask or tell something. */
  readonly client?: SessionClient;
  /** JSON text of the capabilities declared by whoever has no session here, but is asked during calls. */
  readonly capabilities?: Buffer | undefined;
  /** Speaks for whom the session is for, with the credential that is valid when something is sent. */
  readonly fetch: Fetch;
  /** A list of the backend has changed, or may have. */
  readonly onListChanged: () => void;
  /** The session is there to read lists, or also to hear of changed ones. */
  readonly purpose?: 'lists' | 'listChanges' | undefined;
  /** Keeps the session for other replicas; not over HTTP+SSE, where it ends with its stream. */
  readonly memory?: LinkMemory;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

/** How a session ends here; `leave`: other replicas go on with it. */
export type Parting = 'end' | 'leave';

/** `sse`: HTTP+SSE of 2024-11-05. */
export type Transport = 'streamable-http' | 'sse';
