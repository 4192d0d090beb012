/** The scopes of the server at this moment. */
export interface ServerScopes {
  readonly supported: readonly string[];
  /** `baselineClientScopes`: what every client may ask for. A part of the supported ones. */
  readonly baseline: readonly string[];
}

/**
 * The scopes that a client may ask for: those it registered, as far as they are supported, and the baseline; all where
 * it named none (RFC 7591 §2). Made anew whenever a client is read, so that a wider baseline holds for clients
 * registered before it. Never empty, since no scope at all would mean any to oidc-provider: `openid` remains.
 */
export const clientScopes = (registered: readonly string[] | undefined, server: ServerScopes): readonly string[] => {
  if (!registered) return server.supported;
  const supported = new Set(server.supported);
  const scopes = new Set([...registered.filter((scope) => supported.has(scope)), ...server.baseline]);
  return scopes.size > 0 ? [...scopes] : ['openid'];
};
