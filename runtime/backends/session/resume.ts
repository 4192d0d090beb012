import type { BackendSession as KeptSession, SavedBackendSession } from '../../store/index.ts';
import { BASE_HEADERS, type OpenSession } from './handshake.ts';

/** The open session for one that another replica has saved, or this one before a restart. */
export const resumed = (url: string, saved: SavedBackendSession): OpenSession => {
  const { sessionId, revision, path = pathOf(url) } = saved;
  const headers = [...BASE_HEADERS, 'mcp-protocol-version', revision];
  if (sessionId !== undefined) headers.push('mcp-session-id', sessionId);
  return { path, headers, hasId: sessionId !== undefined, revision, capabilities: ASSUMED, saved };
};

/** Capabilities are not saved: a backend without log levels refuses `logging/setLevel`, which does no harm. */
const ASSUMED = { tools: true, prompts: true, resources: true, logging: true, listChanged: false };

/** What another replica needs to use the session. */
export const sessionToSave = (url: string, { path, headers, revision }: OpenSession): KeptSession => ({
  sessionId: headers[headers.indexOf('mcp-session-id') + 1],
  revision,
  path: path === pathOf(url) ? undefined : path,
});

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};
