import type { BackendSession as KeptSession, SavedBackendSession, ResourceSubscription } from '../store/index.ts';
import { BASE_HEADERS, type OpenSession } from './handshake.ts';

/** Where the sessions with backends are kept, so that any replica goes on with them. All may throw `store_unavailable`. */
export interface LinkMemory {
  readonly recall: (backend: string) => Promise<SavedBackendSession | undefined>;
  /** What all replicas go on with: that of another one, when it was first. Undefined when the client's session has ended. */
  readonly save: (backend: string, opened: KeptSession) => Promise<SavedBackendSession | undefined>;
  readonly forget: (backend: string, gone: SavedBackendSession) => Promise<void>;
  readonly subscribe: (subscription: ResourceSubscription) => Promise<unknown>;
  readonly unsubscribe: (subscription: ResourceSubscription) => Promise<unknown>;
}

/** A session that another replica has opened, or this one before a restart. */
export const resumed = (url: string, saved: SavedBackendSession): OpenSession => {
  const { sessionId, revision, path = pathOf(url) } = saved;
  const headers = [...BASE_HEADERS, 'mcp-protocol-version', revision];
  if (sessionId !== undefined) headers.push('mcp-session-id', sessionId);
  return { path, headers, hasId: sessionId !== undefined, revision, capabilities: ASSUMED, saved };
};

/** What the backend can do is not kept: one that keeps no log levels refuses to be told one, which does no harm. */
const ASSUMED = { tools: true, prompts: true, resources: true, logging: true, listChanged: false };

/** What another replica needs to go on with the session. */
export const keptOf = (url: string, { path, headers, revision }: OpenSession): KeptSession => ({
  sessionId: headers[headers.indexOf('mcp-session-id') + 1],
  revision,
  path: path === pathOf(url) ? undefined : path,
});

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};
