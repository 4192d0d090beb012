import { AuthorizationResponseError, calculatePKCECodeChallenge, validateAuthResponse } from 'oauth4webapi';
import type { UpstreamClient } from './client-authentication.ts';
import type { Provider } from './provider.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import { saidNo } from './refusal-codes.ts';
import { type UpstreamRequest, refused, unavailable } from './upstream.ts';

/** The authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3). No `resource` is named: Entra refuses it. */
export const authorizationUrl = async (
  provider: Provider,
  { metadata, client }: { readonly metadata: ProviderMetadata; readonly client: UpstreamClient },
  { state, nonce, codeVerifier }: UpstreamRequest,
): Promise<URL> => {
  const url = URL.parse(metadata.authorization_endpoint ?? '');
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw unavailable('invalid_response', 'the metadata of the provider has no authorization endpoint');
  const scope = provider.scopes(metadata).join(' ');
  const parameters = {
    ...provider.additionalParameters,
    response_type: 'code',
    client_id: client.id,
    redirect_uri: provider.redirectUri,
    ...(scope !== '' && { scope }),
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(provider.isOpenId && { nonce }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
};

/**
 * Checks the query of the redirect back (RFC 6749 §4.1.2, RFC 9207 §2.4). Throws UpstreamError where it is of another
 * provider, for another request, or says no.
 */
export const checkedAnswer = (
  answer: URLSearchParams,
  { state }: UpstreamRequest,
  { metadata, client }: { readonly metadata: ProviderMetadata; readonly client: UpstreamClient },
): URLSearchParams => {
  checkIssuer(answer.get('iss'), metadata);
  const parameters = new URLSearchParams(answer);
  // It was compared with the little that is known.
  if (!metadata.isIssuerKnown) parameters.delete('iss');
  const valid = validated(parameters, state, { metadata, client });
  const codes = valid.getAll('code');
  if (codes.length !== 1 || codes[0] === '') throw malformed();
  return valid;
};

const malformed = () => refused('invalid_response', 'the redirect back from the provider is malformed');

const validated = (
  parameters: URLSearchParams,
  state: string,
  { metadata, client }: { readonly metadata: ProviderMetadata; readonly client: UpstreamClient },
): URLSearchParams => {
  try {
    return validateAuthResponse(metadata, { client_id: client.id }, parameters, state);
  } catch (error) {
    throw error instanceof AuthorizationResponseError ? saidNo('the authorization', error.error) : malformed();
  }
};

/**
 * A code must go to the provider that issued it (RFC 9700 §4.4): of a provider whose issuer is not known, the origin
 * has to be that of its authorization endpoint.
 */
const checkIssuer = (said: string | null, metadata: ProviderMetadata): void => {
  const { issuer, isIssuerKnown, authorization_response_iss_parameter_supported: isAnnounced } = metadata;
  if (said === null) {
    if (isAnnounced === true) throw refused('issuer_mismatch', 'the redirect back does not name its issuer');
    return;
  }
  const isSame = isIssuerKnown ? said === issuer : URL.parse(said)?.origin === issuer;
  if (!isSame) throw refused('issuer_mismatch', 'the redirect back is from another issuer than the user was sent to');
};
