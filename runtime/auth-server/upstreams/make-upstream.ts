import { authorizationCodeGrantRequest, refreshTokenGrantRequest, revocationRequest } from 'oauth4webapi';
import type { UpstreamProviderConfig } from '../../config/index.ts';
import { authorizationUrl, checkedAnswer } from './authorization.ts';
import type { UpstreamClient } from './client-authentication.ts';
import { oauth2Provider } from './oauth2-provider.ts';
import { openIdProvider } from './openid-provider.ts';
import { type Asked, loginOf, type Provider, type UpstreamDeps } from './provider.ts';
import { sentThrough } from './provider-http.ts';
import { issuedClaims, signInClaims, verifiedIdToken } from './provider-jwt.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import type { AskedFor } from './token-response.ts';
import { type SendGrant, type TokenEndpoint, tokenEndpoint } from './token-endpoint.ts';
import { type Claims, refused, type Upstream, UpstreamError, type UpstreamTokens } from './upstream.ts';

/** One provider of the configuration. Sends nothing before it is used. */
export const makeUpstream = (config: UpstreamProviderConfig, deps: UpstreamDeps): Upstream => {
  const { name, oidcConfig, oauth2Config } = config;
  if (oidcConfig) return naming(upstreamOf(openIdProvider(name, oidcConfig, deps), deps));
  if (oauth2Config) return naming(upstreamOf(oauth2Provider(name, oauth2Config, deps), deps));
  throw new Error(`the provider ${name} has neither oidcConfig nor oauth2Config, which its schema prevents`);
};

/** Every error says which provider it is about: of several, logs would not tell. */
const naming = (upstream: Upstream): Upstream => {
  const named = (error: unknown): never => {
    if (error instanceof UpstreamError) error.provider = upstream.name;
    throw error;
  };
  return {
    ...upstream,
    authorizationUrl: (request) => upstream.authorizationUrl(request).catch(named),
    redeem: (answer, request) => upstream.redeem(answer, request).catch(named),
    refresh: (refreshToken, previous) => upstream.refresh(refreshToken, previous).catch(named),
    claimsOf: (tokens) => upstream.claimsOf(tokens).catch(named),
  };
};

const upstreamOf = (provider: Provider, deps: UpstreamDeps): Upstream => {
  const { name, redirectUri, origin } = provider;
  const sent = sentThrough(deps.fetch, 'the token endpoint');
  const parts: Parts = { provider, deps, endpoint: tokenEndpoint() };
  return {
    name,
    redirectUri,
    origin,
    authorizationUrl: async (request) => authorizationUrl(provider, await known(provider), request),
    redeem: async (answer, request) => {
      const of = await known(provider);
      const parameters = checkedAnswer(answer, request, of);
      const client = { client_id: of.client.id };
      const asked = await ask(parts, of, 'code', (authenticate) =>
        authorizationCodeGrantRequest(
          of.metadata,
          client,
          authenticate,
          parameters,
          redirectUri,
          request.codeVerifier,
          sent,
        ),
      );
      return loginOf(await provider.identify({ ...asked, ...of, nonce: request.nonce }), asked.tokens);
    },
    refresh: async (refreshToken, previous = { accessToken: '' }) => {
      const of = await known(provider);
      const { response, tokens } = await ask(parts, of, 'refresh token', (authenticate) =>
        refreshTokenGrantRequest(of.metadata, { client_id: of.client.id }, authenticate, refreshToken, sent),
      );
      const idToken = await refreshedIdToken(parts, of, { said: response['id_token'], previous: previous.idToken });
      const { scope } = previous;
      return {
        ...(scope !== undefined && { scope }),
        ...(idToken !== undefined && { idToken }),
        refreshToken,
        ...tokens,
      };
    },
    revoke: (tokens) => revoke(parts, tokens),
    claimsOf: async (tokens) => claimsOf(parts, await known(provider), tokens),
  };
};

interface Parts {
  readonly provider: Provider;
  readonly deps: UpstreamDeps;
  readonly endpoint: TokenEndpoint;
}

/** Whom a request is sent to, and as whom. */
interface Known {
  readonly metadata: ProviderMetadata;
  readonly client: UpstreamClient;
}

const known = async (provider: Provider): Promise<Known> => {
  const metadata = await provider.metadata();
  return { metadata, client: await provider.client() };
};

const ask = async (
  { provider, deps, endpoint }: Parts,
  of: Known,
  grant: AskedFor['grant'],
  send: SendGrant,
): Promise<Asked> => {
  const asked = { grant, at: deps.clock.now() };
  try {
    const response = await endpoint.ask(of.client, of.metadata, send);
    await provider.told(of.client, true);
    return { response, tokens: provider.tokensIn(response, asked) };
  } catch (error) {
    if (error instanceof UpstreamError && error.code === 'invalid_client') await provider.told(of.client, false);
    throw error;
  }
};

/**
 * A new ID token is only worth its claims: one that cannot be verified is left out rather than losing the tokens that
 * came with it, which may have replaced the known ones. One of another user is refused (OpenID Connect Core §12.2).
 */
const refreshedIdToken = async (
  { provider, deps }: Parts,
  { metadata, client }: Known,
  { said, previous }: { readonly said: unknown; readonly previous: string | undefined },
): Promise<string | undefined> => {
  if (typeof said !== 'string' || !provider.isOpenId) return previous;
  const jwt = { metadata, keys: provider.keys, clock: deps.clock };
  try {
    const { sub } = await verifiedIdToken({ idToken: said, clientId: client.id, nonce: undefined }, jwt);
    const before = previous === undefined ? undefined : signInClaims(previous, client.id, metadata);
    if (before !== undefined && before['sub'] !== sub)
      throw refused('subject_mismatch', 'the refreshed ID token is of another user');
    return said;
  } catch (error) {
    if (error instanceof UpstreamError && error.code !== 'subject_mismatch') return previous;
    throw error;
  }
};

const claimsOf = async (
  { provider, deps }: Parts,
  { metadata, client }: Known,
  { accessToken, idToken }: UpstreamTokens,
): Promise<Claims | undefined> => {
  const jwt = { metadata, keys: provider.keys, clock: deps.clock };
  const claims = await issuedClaims(accessToken, jwt);
  if (claims === 'expired') return undefined;
  if (claims !== 'not-verifiable') return claims;
  return idToken === undefined ? undefined : signInClaims(idToken, client.id, metadata);
};

/** The refresh token first: many providers end the access tokens with it (RFC 7009 §2.1). Never throws. */
const revoke = async ({ provider, deps, endpoint }: Parts, tokens: UpstreamTokens): Promise<void> => {
  const of = await known(provider).catch(() => undefined);
  if (of?.metadata.revocation_endpoint === undefined) return;
  const { metadata, client } = of;
  const options = sentThrough(deps.fetch, 'the revocation endpoint');
  const each = { refresh_token: tokens.refreshToken, access_token: tokens.accessToken };
  for (const [hint, token] of Object.entries(each)) {
    if (token === undefined) continue;
    const more = { ...options, additionalParameters: { token_type_hint: hint } };
    await endpoint
      .tell(client, metadata, (authenticate) =>
        revocationRequest(metadata, { client_id: client.id }, authenticate, token, more),
      )
      .catch(() => {});
  }
};
