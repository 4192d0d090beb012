/**
 * The embedded authorization server (docs/authorization-server.md): users sign in at the identity providers of their
 * company, clients get tokens of this server. OAuth itself is `oidc-provider`'s; logins, clients, keys and what is kept
 * are ours. Invariants: no token before the user has agreed; an identity provider's answer counts once and in the
 * browser that asked; nothing in the store opens without a secret that is not there. Start at `flow.ts` (a login), then
 * `served.ts` (how the parts are joined).
 */

export type { Answer } from './answer.ts';
export { type AuthServer, authServer, type AuthServerDeps } from './auth-server.ts';
export type { ReadBytes } from './keys/secrets.ts';
export type { Route, RouteRequest } from './routes.ts';
