/**
 * Identity providers that users are sent to: where the browser goes, what its answer is worth, who the user is, and the
 * tokens of the provider. Invariants: PKCE always; a code goes only to the provider that issued it, where that one
 * names its issuer in the redirect back (RFC 9207); an identity comes from a verified ID token or over TLS from the
 * provider itself; what is transient is told from what is refused. Start at `make-upstream.ts`; the types are in
 * `upstream.ts`.
 */

export { makeUpstream } from './make-upstream.ts';
export type { UpstreamDeps } from './provider.ts';
export type { Registrations } from './registered-client.ts';
export { type Sealer, storedRegistrations } from './stored-registrations.ts';
export type { RegisteredClient } from './registration.ts';
export {
  type Claims,
  type Identity,
  type UpstreamRequest,
  type Upstream,
  UpstreamError,
  type UpstreamLogin,
  type UpstreamTokens,
} from './upstream.ts';
