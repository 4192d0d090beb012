/**
 * The other servers. `http/` connections, `messages/` JSON-RPC to and from a backend, `session/` revisions with
 * sessions, `stateless/` 2026-07-28, `discovery/` lists, health and eras, `watches/` subscriptions; each imports only
 * those before it. One warm session per client session and backend; a call that may have been executed is never sent
 * again. Start at `backend.ts`.
 */

export { EventReader } from './http/event-reader.ts';
export { BackendSet, type WantedBackend } from './backend-set.ts';
export type { Backend } from './backend.ts';
export type { BackendDeps, BackendEvents } from './backend-settings.ts';
export { UserBackendSessions } from './session/user-sessions.ts';
export { ClientBackendSessions } from './session/client-sessions.ts';
export type { BackendSessionMemory } from './session/settings.ts';
