import type { UpstreamProviderConfig } from '../../config/index.ts';
import { valueAt } from './json-path.ts';
import type { JsonObject } from './provider-http.ts';
import { unavailable, type UpstreamTokens } from './upstream.ts';

export type TokenResponseMapping = NonNullable<
  NonNullable<UpstreamProviderConfig['oauth2Config']>['tokenResponseMapping']
>;

/** The ID token is not among them: it has to be verified first. */
export type ReadTokens = Omit<UpstreamTokens, 'idToken'>;

/** What the response is an answer to. */
export interface AskedFor {
  readonly grant: 'code' | 'refresh token';
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Reads the tokens of a response (RFC 6749 §5.1). Throws UpstreamError. */
export const standardTokens = (response: JsonObject, asked: AskedFor): ReadTokens => {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type = 'Bearer' } = response;
  // Some providers leave the type out, as it was optional in drafts. Others need a proof of possession.
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw unusable('has a token_type that is not Bearer');
  return tokensOf({ accessToken, refreshToken, scope: response['scope'], life: response['expires_in'] }, asked.at);
};

/**
 * `tokenResponseMapping` of docs/configuration.md "authServer": the same by paths. Slack answers a refresh in the
 * standard form, whatever form the first answer had (https://docs.slack.dev/authentication/using-token-rotation).
 */
export const mappedTokens = (response: JsonObject, mapping: TokenResponseMapping, asked: AskedFor): ReadTokens => {
  const { accessTokenPath, refreshTokenPath, scopePath, expiresInPath } = mapping;
  const accessToken = valueAt(response, accessTokenPath);
  if (accessToken === undefined && asked.grant === 'refresh token') return standardTokens(withoutType(response), asked);
  return tokensOf(
    {
      accessToken,
      refreshToken: valueAt(response, refreshTokenPath),
      scope: valueAt(response, scopePath),
      life: valueAt(response, expiresInPath),
    },
    asked.at,
  );
};

/** Slack's type says whose token it is: `user` or `bot`. */
const withoutType = ({ token_type: _type, ...response }: JsonObject): JsonObject => response;

interface Found {
  readonly accessToken: unknown;
  readonly refreshToken: unknown;
  readonly scope: unknown;
  readonly life: unknown;
}

const tokensOf = ({ accessToken, refreshToken, scope, life }: Found, askedAt: number): ReadTokens => {
  if (typeof accessToken !== 'string' || accessToken === '') throw unusable('has no access token');
  if (accessToken.length > MAX_TOKEN_CHARACTERS || !TOKEN_TEXT.test(accessToken))
    throw unusable('has an access token that no header can carry');
  const expiresAt = expiryOf(life, askedAt);
  return {
    accessToken,
    ...(isText(refreshToken) && { refreshToken }),
    ...(isText(scope) && { scope }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
};

/** Many servers take no more for all headers together. */
const MAX_TOKEN_CHARACTERS = 16 * 1024;
const TOKEN_TEXT = /^[\x21-\x7e]+$/;
const MAX_TEXT = 64 * 1024;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT;

/** A year: who says more says that the token does not expire. */
const LONGEST_SECONDS = 366 * 86_400;

/** Undefined: it does not say, or that it does not expire. Some providers write the number as text. */
const expiryOf = (life: unknown, askedAt: number): number | undefined => {
  const seconds = typeof life === 'string' && /^\d{1,12}(\.\d+)?$/.test(life) ? Number(life) : life;
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined;
  return askedAt + Math.min(seconds, LONGEST_SECONDS) * 1_000;
};

const unusable = (what: string) => unavailable('invalid_response', `the answer of the token endpoint ${what}`);
