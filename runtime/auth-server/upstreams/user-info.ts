import type { UpstreamProviderConfig } from '../../config/index.ts';
import type { GuardedFetch } from '../../http/index.ts';
import { askProvider, type JsonObject, objectIn } from './provider-http.ts';
import { saidNo } from './refusal-codes.ts';
import { refused, unavailable } from './upstream.ts';

export type UserInfoSettings = NonNullable<NonNullable<UpstreamProviderConfig['oauth2Config']>['userInfo']>;

/** How a userinfo endpoint is asked. */
export interface UserInfoRequest {
  readonly endpointUrl: string;
  readonly httpMethod: 'GET' | 'POST';
  readonly additionalHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Asks who the access token belongs to (OpenID Connect Core §5.3). Throws UpstreamError. */
export const askForUser = async (
  fetch: GuardedFetch,
  { endpointUrl, httpMethod, additionalHeaders = {} }: UserInfoRequest,
  accessToken: string,
): Promise<JsonObject> => {
  const own = Object.entries(additionalHeaders).map(([name, value]) => [name.toLowerCase(), value] as const);
  const { status, body, headers } = await askProvider(fetch, WHAT, {
    url: endpointUrl,
    method: httpMethod,
    headers: { accept: 'application/json', ...Object.fromEntries(own), authorization: `Bearer ${accessToken}` },
    ...(httpMethod === 'POST' && { body: '' }),
  });
  if (status === 200) return objectIn(WHAT, body.toString());
  // RFC 6750 §3.1 has the word in the challenge.
  const challenge = String(headers['www-authenticate'] ?? '');
  const word = /\berror="([a-z_]{1,64})"/.exec(challenge)?.[1];
  if (word !== undefined) throw saidNo(WHAT, word);
  if (status === 401 || status === 403) throw refused('userinfo_refused', `${WHAT}: HTTP ${status}`);
  throw unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`);
};

const WHAT = 'the userinfo endpoint';
