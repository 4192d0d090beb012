import type { ClientMetadata } from 'oidc-provider';
import { clientScopes, type ServerScopes } from './client-scopes.ts';
import type { Registration } from './registration-metadata.ts';
import type { SealedClient } from './sealed-client-id.ts';

/** A registered client as oidc-provider reads it, which is what the client is answered, too (RFC 7591 §3.2.1). */
export const clientMetadata = (
  { clientId, clientSecret, registration }: SealedClient,
  scopes: ServerScopes,
): ClientMetadata => ({
  ...commonMetadata(clientId, registration, scopes),
  client_id_issued_at: registration.issuedAt,
  // RFC 7591 §3.2.1: 0 for a secret that does not expire.
  ...(clientSecret !== undefined && { client_secret: clientSecret, client_secret_expires_at: 0 }),
});

/** What clients of both kinds have. */
export const commonMetadata = (
  clientId: string,
  { clientName, redirectUris, mayRefresh, authMethod, scopes }: Registration,
  server: ServerScopes,
): ClientMetadata => ({
  client_id: clientId,
  ...(clientName !== undefined && { client_name: clientName }),
  redirect_uris: [...redirectUris],
  grant_types: mayRefresh ? ['authorization_code', 'refresh_token'] : ['authorization_code'],
  response_types: ['code'],
  token_endpoint_auth_method: authMethod,
  // For oidc-provider, only native clients have loopback on any port and private-use schemes; web sites are as exact.
  application_type: 'native',
  scope: clientScopes(scopes, server).join(' '),
});
