import type { JWK } from 'jose';
import { ENDPOINTS } from './paths.ts';
import type { AuthServerSettings } from './settings.ts';

/** OAuth 2.0 Multiple Response Type Encoding Practices §2.1. */
export const RESPONSE_MODES: readonly string[] = ['query', 'fragment'];

/**
 * The metadata of the authorization server (RFC 8414 §2, OpenID Connect Discovery §3), one document for all its
 * addresses, made of the configured issuer and never of the Host of a request.
 */
export const metadataOf = ({ issuer, browserBase, scopesSupported }: AuthServerSettings, algorithm: string) => ({
  issuer,
  authorization_endpoint: `${browserBase}${ENDPOINTS.authorize}`,
  token_endpoint: `${issuer}${ENDPOINTS.token}`,
  registration_endpoint: `${issuer}${ENDPOINTS.register}`,
  revocation_endpoint: `${issuer}${ENDPOINTS.revoke}`,
  jwks_uri: `${issuer}${ENDPOINTS.jwks}`,
  scopes_supported: scopesSupported,
  response_types_supported: ['code'],
  response_modes_supported: RESPONSE_MODES,
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: AUTH_METHODS,
  revocation_endpoint_auth_methods_supported: AUTH_METHODS,
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [algorithm],
  claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'name', 'email', 'email_verified'],
  claims_parameter_supported: false,
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
});

const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];

export const jwksOf = (keys: readonly JWK[]) => ({ keys });
