/**
 * Authenticates the caller to a backend: one strategy per entry of `strategies.ts`, each wraps a `Fetch`. A credential
 * is resolved when a request is sent, never kept with a session. Start at `strategy.ts`.
 */

export { connectStrategy } from './strategies.ts';
export { type CredentialSource, proveWith, withHeader } from './credential-source.ts';
export { relayed } from './token-relay.ts';
export { CredentialCache } from './credential-cache.ts';
export type { IdleTimeout, AwaitedAnswer, BackendRequest, BackendResponse, Fetch, Unsent } from './fetch.ts';
export type { ConnectStrategy, CredentialMeasures, NoteOutcome, Prove, Strategy, StrategyDeps } from './strategy.ts';
