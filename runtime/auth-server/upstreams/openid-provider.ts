import type { UpstreamProviderConfig } from '../../config/index.ts';
import { configuredClient } from './client-authentication.ts';
import { discoverOpenIdProvider } from './discovery.ts';
import { firstOf, identityInAnswer, identityOf, textOf } from './identity.ts';
import { digestOf } from './digest.ts';
import type { Answered, Identified, Provider, UpstreamDeps } from './provider.ts';
import { verifiedIdToken } from './provider-jwt.ts';
import { providerKeys } from './provider-keys.ts';
import { cachedMetadata } from './provider-metadata.ts';
import { standardTokens } from './token-response.ts';
import { type Claims, type Identity, refused, UpstreamError } from './upstream.ts';
import { askForUser } from './user-info.ts';

type OidcConfig = NonNullable<UpstreamProviderConfig['oidcConfig']>;

/** `type: oidc` of docs/configuration.md "authServer". */
export const openIdProvider = (name: string, config: OidcConfig, deps: UpstreamDeps): Provider => {
  const { issuerUrl, clientId, scopes } = config;
  const keys = providerKeys(deps.fetch, deps.clock);
  return {
    name,
    redirectUri: config.redirectUri ?? deps.redirectUri,
    metadata: cachedMetadata(() => discoverOpenIdProvider(deps.fetch, issuerUrl), deps.clock),
    client: () => configuredClient(config, deps.readSecret),
    keys,
    scopes: () => scopes,
    additionalParameters: config.additionalAuthorizationParams ?? {},
    isOpenId: true,
    tokensIn: standardTokens,
    identify: async (answered) => {
      const verified = await idTokenOf(answered, { keys, clock: deps.clock });
      return identifiedBy(verified, answered, { config, deps });
    },
    told: async () => {},
    origin: digestOf(['oidc', issuerUrl, clientId]),
  };
};

interface VerifiedIdToken {
  readonly idToken: string;
  readonly claims: Claims;
}

const idTokenOf = async (
  { response, client, nonce, metadata }: Answered,
  deps: Pick<Parameters<typeof verifiedIdToken>[1], 'keys' | 'clock'>,
): Promise<VerifiedIdToken | undefined> => {
  const { id_token: idToken } = response;
  if (typeof idToken !== 'string' || idToken === '') return undefined;
  const claims = await verifiedIdToken({ idToken, clientId: client.id, nonce }, { ...deps, metadata });
  return { idToken, claims };
};

/** The user is whom the ID token names, unless another userinfo endpoint is configured. */
const identifiedBy = async (
  verified: VerifiedIdToken | undefined,
  { tokens, metadata }: Answered,
  { config, deps }: { readonly config: OidcConfig; readonly deps: UpstreamDeps },
): Promise<Identified> => {
  const { userInfoOverride: override, scopes } = config;
  if (verified === undefined && (override === undefined || scopes.includes('openid')))
    throw refused('no_id_token', 'the provider sent no ID token: scopes has to contain openid');
  const idToken = verified && { idToken: verified.idToken };
  if (override) {
    const user = await askForUser(deps.fetch, override, tokens.accessToken);
    return { identity: identityInAnswer(user, override.fieldMapping), ...idToken };
  }
  const claims = verified?.claims ?? {};
  const user = await discoveredUser(claims, { endpointUrl: metadata.userinfo_endpoint, tokens, deps });
  return { identity: standardIdentity(claims, user), ...idToken };
};

const standardIdentity = (claims: Claims, user: Claims): Identity =>
  identityOf(
    {
      subject: claims['sub'],
      name: firstOf({ user, claims }, ['user.name', 'claims.name']),
      email: firstOf({ user, claims }, ['user.email', 'claims.email']),
      emailVerified: verdictOn(textOf(user['email']) === undefined ? claims : user, [user, claims]),
    },
    'the ID token',
  );

/** What is said of the address where it was found; a no counts wherever it was said. */
const verdictOn = (source: Claims, all: readonly Claims[]): unknown =>
  all.map((each) => each['email_verified']).find((each) => each === false || each === 'false') ??
  source['email_verified'];

/**
 * Name and address by the discovered userinfo endpoint (OpenID Connect Core §5.3.2: of the very subject). An access
 * token for another API is refused there, and then the ID token has to do.
 */
const discoveredUser = async (
  claims: Claims,
  {
    endpointUrl,
    tokens,
    deps,
  }: {
    readonly endpointUrl: string | undefined;
    readonly tokens: Answered['tokens'];
    readonly deps: UpstreamDeps;
  },
): Promise<Claims> => {
  if (endpointUrl === undefined) return {};
  try {
    const user = await askForUser(deps.fetch, { endpointUrl, httpMethod: 'GET' }, tokens.accessToken);
    if (user['sub'] !== claims['sub'])
      throw refused('subject_mismatch', 'the userinfo endpoint and the ID token name different subjects');
    return user;
  } catch (error) {
    if (error instanceof UpstreamError && error.kind === 'refused' && error.code !== 'subject_mismatch') return {};
    throw error;
  }
};
