import type { UpstreamProviderConfig } from '../../config/index.ts';
import { configuredClient } from './client-authentication.ts';
import { readMetadata } from './discovery.ts';
import { identityFromResponse, identityInAnswer, synthesizedIdentity } from './identity.ts';
import { digestOf } from './digest.ts';
import type { Provider, UpstreamDeps } from './provider.ts';
import { providerKeys } from './provider-keys.ts';
import { cachedMetadata, type ProviderMetadata } from './provider-metadata.ts';
import { type ClientRegistration, RegisteredOnce } from './registered-client.ts';
import { type DcrConfig, register } from './registration.ts';
import { mappedTokens, standardTokens } from './token-response.ts';
import type { Identity } from './upstream.ts';
import { askForUser } from './user-info.ts';

type OAuth2Config = NonNullable<UpstreamProviderConfig['oauth2Config']>;

/** `type: oauth2` of docs/configuration.md "authServer". */
export const oauth2Provider = (name: string, config: OAuth2Config, deps: UpstreamDeps): Provider => {
  const { clientId = '', tokenEndpoint, tokenResponseMapping: mapping, dcrConfig } = config;
  const redirectUri = config.redirectUri ?? deps.redirectUri;
  const metadata = metadataOf(config, deps);
  const scopes = (of: ProviderMetadata): readonly string[] => config.scopes ?? of.scopes_supported ?? [];
  const registration = dcrConfig && registrationOf(dcrConfig, { config, redirectUri, metadata, scopes, deps });
  return {
    name,
    redirectUri,
    metadata,
    client: () => (registration ? registration.current() : configuredClient({ ...config, clientId }, deps.readSecret)),
    told: async (client, isAccepted) => registration?.told(client, isAccepted),
    keys: providerKeys(deps.fetch, deps.clock),
    scopes,
    additionalParameters: config.additionalAuthorizationParams ?? {},
    isOpenId: false,
    tokensIn: (response, asked) => (mapping ? mappedTokens(response, mapping, asked) : standardTokens(response, asked)),
    identify: async ({ response, tokens }) => ({
      identity: await identityBy(config, { name, response, accessToken: tokens.accessToken }, deps),
    }),
    origin: digestOf(['oauth2', tokenEndpoint, clientId, dcrConfig?.discoveryUrl, dcrConfig?.registrationEndpoint]),
  };
};

const identityBy = async (
  { identityFromToken, userInfo }: OAuth2Config,
  { name, response, accessToken }: { readonly name: string; readonly response: object; readonly accessToken: string },
  { fetch }: UpstreamDeps,
): Promise<Identity> => {
  if (identityFromToken) return identityFromResponse({ ...response }, identityFromToken);
  if (userInfo) return identityInAnswer(await askForUser(fetch, userInfo, accessToken), userInfo.fieldMapping);
  return synthesizedIdentity(name, accessToken);
};

/** What the owner wrote, and what the document says of the rest. */
const metadataOf = (config: OAuth2Config, { fetch, clock }: UpstreamDeps): (() => Promise<ProviderMetadata>) => {
  const { authorizationEndpoint, tokenEndpoint, dcrConfig: { discoveryUrl, registrationEndpoint } = {} } = config;
  const written = {
    ...(authorizationEndpoint !== undefined && { authorization_endpoint: authorizationEndpoint }),
    ...(tokenEndpoint !== undefined && { token_endpoint: tokenEndpoint }),
    ...(registrationEndpoint !== undefined && { registration_endpoint: registrationEndpoint }),
  };
  if (discoveryUrl === undefined) {
    const metadata = { ...written, issuer: originIn(authorizationEndpoint), isIssuerKnown: false };
    return async () => metadata;
  }
  return cachedMetadata(async () => {
    const { issuer, ...document } = await readMetadata(fetch, discoveryUrl);
    const { authorization_endpoint: foundEndpoint } = document;
    // A document elsewhere could claim any issuer.
    const isIssuerKnown = typeof issuer === 'string' && originIn(issuer) === originIn(discoveryUrl);
    return {
      ...document,
      ...written,
      issuer: isIssuerKnown ? issuer : originIn(authorizationEndpoint ?? foundEndpoint),
      isIssuerKnown,
    };
  }, clock);
};

const originIn = (url: unknown): string => (typeof url === 'string' ? (URL.parse(url)?.origin ?? '') : '');

const registrationOf = (
  dcr: DcrConfig,
  {
    config,
    redirectUri,
    metadata,
    scopes,
    deps,
  }: {
    readonly config: OAuth2Config;
    readonly redirectUri: string;
    readonly metadata: () => Promise<ProviderMetadata>;
    readonly scopes: (metadata: ProviderMetadata) => readonly string[];
    readonly deps: UpstreamDeps;
  },
): ClientRegistration => {
  const { discoveryUrl, registrationEndpoint, softwareId, softwareStatement } = dcr;
  const registered = [discoveryUrl, registrationEndpoint, redirectUri, softwareId, softwareStatement];
  return new RegisteredOnce(digestOf([...registered, ...(config.scopes ?? [])]), {
    ...deps,
    register: async () => {
      const found = await metadata();
      return register(dcr, { metadata: found, scopes: scopes(found), redirectUri }, deps);
    },
  });
};
