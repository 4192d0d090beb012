import { dynamicClientRegistrationRequest } from 'oauth4webapi';
import type { UpstreamProviderConfig } from '../../config/index.ts';
import type { GuardedFetch } from '../../http/index.ts';
import type { ReadSecret } from '../../process/index.ts';
import type { UpstreamClient } from './client-authentication.ts';
import { type JsonObject, objectIn, sentThrough } from './provider-http.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import { saidNo } from './refusal-codes.ts';
import { refused, unavailable } from './upstream.ts';

export type DcrConfig = NonNullable<NonNullable<UpstreamProviderConfig['oauth2Config']>['dcrConfig']>;

/** A client that a provider has registered. */
export interface RegisteredClient extends UpstreamClient {
  readonly method: string;
  /** Milliseconds since the epoch, where its secret ends. */
  readonly expiresAt?: number;
}

export interface RegistrationDeps {
  readonly fetch: GuardedFetch;
  readonly readSecret: ReadSecret;
}

/** Registers a client (RFC 7591). Throws UpstreamError. */
export const register = async (
  config: DcrConfig,
  { metadata, scopes, redirectUri }: WantedClient,
  { fetch, readSecret }: RegistrationDeps,
): Promise<RegisteredClient> => {
  const method = methodFor(metadata.token_endpoint_auth_methods_supported);
  const initialAccessToken = await initialAccessTokenOf(config, readSecret);
  if (metadata.registration_endpoint === undefined)
    throw refused('no_registration_endpoint', 'the metadata of the provider has no registration endpoint');
  const response = await dynamicClientRegistrationRequest(
    metadata,
    {
      client_name: 'vmcp',
      redirect_uris: [redirectUri],
      application_type: applicationTypeFor(redirectUri),
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(config.softwareId !== undefined && { software_id: config.softwareId }),
      ...(config.softwareStatement !== undefined && { software_statement: config.softwareStatement }),
    },
    { ...sentThrough(fetch, WHAT), ...(initialAccessToken !== undefined && { initialAccessToken }) },
  );
  return clientIn(await registeredIn(response), method);
};

/**
 * OpenID Connect Dynamic Client Registration §2: without it a client is `web`, which may have no redirect URI on
 * loopback over HTTP, such as that of a server on a laptop.
 */
const applicationTypeFor = (redirectUri: string): 'web' | 'native' =>
  redirectUri.startsWith('https://') ? 'web' : 'native';

const WHAT = 'the registration endpoint';

/** What is registered beside the settings of the registration itself. */
export interface WantedClient {
  readonly metadata: ProviderMetadata;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
}

/** The preferred ones first. A provider that publishes none has the default of RFC 7591 §2. */
const METHODS = ['client_secret_basic', 'client_secret_post', 'none'];

const methodFor = (supported: readonly string[] = METHODS): string => {
  const method = METHODS.find((each) => supported.includes(each));
  if (method !== undefined) return method;
  throw refused('unsupported_client_authentication', `${WHAT}: the provider takes none of ${METHODS.join(', ')}`);
};

const initialAccessTokenOf = async (
  { initialAccessTokenFile: file }: DcrConfig,
  readSecret: ReadSecret,
): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  const token = await readSecret({ file }).catch(() => undefined);
  if (token === undefined)
    throw unavailable('initial_access_token_missing', 'the initial access token is missing or cannot be read');
  return token;
};

const registeredIn = async (response: Response): Promise<JsonObject> => {
  const { status } = response;
  const text = await response.text();
  if (status === 201 || status === 200) return objectIn(WHAT, text);
  const failed = unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`);
  const error = errorIn(text);
  throw error === undefined ? failed : saidNo(WHAT, error);
};

const errorIn = (text: string): string | undefined => {
  try {
    const { error } = objectIn(WHAT, text);
    return typeof error === 'string' && error !== '' ? error : undefined;
  } catch {
    return undefined;
  }
};

/** The server may have registered another method than was asked for (RFC 7591 §3.2.1). */
const clientIn = (registered: JsonObject, asked: string): RegisteredClient => {
  const { client_id: id, client_secret: secret, client_secret_expires_at: expires } = registered;
  const { token_endpoint_auth_method: said = secret === undefined ? 'none' : asked } = registered;
  if (typeof id !== 'string' || id === '')
    throw unavailable('invalid_response', `${WHAT}: the answer has no client_id`);
  if (typeof said !== 'string' || !METHODS.includes(said))
    throw refused('unsupported_client_authentication', `${WHAT}: it registers a method that is not supported`);
  if (said === 'none') return { id, method: said };
  if (typeof secret !== 'string' || secret === '')
    throw unavailable('invalid_response', `${WHAT}: the answer has no client_secret`);
  const ends = typeof expires === 'number' && expires > 0;
  return { id, secret, method: said, ...(ends && { expiresAt: expires * 1_000 }) };
};
