import { basicAuthorization, FetchError, type FetchResponse } from '../../http/index.ts';
import { objectIn } from '../../json/index.ts';
import type { Obtained } from '../credential-cache.ts';
import { isUnreached } from '../refusals.ts';
import type { StrategyDeps } from '../strategy.ts';

/** Parameters of every exchange of one strategy. */
export interface ExchangeSettings {
  readonly tokenUrl: string;
  /** A URN or another URI. */
  readonly subjectTokenType: string;
  readonly audience?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly clientId?: string | undefined;
}

export interface ExchangeRequest {
  readonly subjectToken: string;
  /** Absent: a public client, or none. */
  readonly clientSecret: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * `refused`: the token endpoint says no. `failed`: it could not be asked, or failed, which says nothing about the
 * token. `invalid`: its answer cannot be used.
 */
export type ExchangeFailure = 'refused' | 'failed' | 'invalid';

/** Why there is no token. The message is safe for strangers; `detail` is for logs. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  readonly outcome: ExchangeFailure;
  readonly detail: string | undefined;
  /** The endpoint is away, silent or broken. */
  readonly isOutage: boolean;

  constructor(outcome: ExchangeFailure, message: string, detail?: string, isOutage = false) {
    super(message);
    this.outcome = outcome;
    this.detail = detail;
    this.isOutage = isOutage;
  }
}

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** One exchange at a token endpoint (RFC 8693 §2). Throws ExchangeError, or the reason of the signal. */
export const exchange = async (
  settings: ExchangeSettings,
  { subjectToken, clientSecret, signal }: ExchangeRequest,
  { fetch, clock }: Pick<StrategyDeps, 'fetch'> & { readonly clock: Pick<StrategyDeps['clock'], 'now'> },
): Promise<Obtained<string>> => {
  const askedAt = clock.now();
  const { clientId } = settings;
  const isConfidential = clientId !== undefined && clientSecret !== undefined;
  const response = await fetch({
    url: settings.tokenUrl,
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(isConfidential && { authorization: basicAuthorization(clientId, clientSecret) }),
    },
    body: formOf(settings, subjectToken, isConfidential),
    signal,
  }).catch((error: unknown) => {
    throw error instanceof FetchError ? notAsked(error) : error;
  });
  return tokenIn(response, askedAt);
};

const formOf = (
  { subjectTokenType, audience, scopes = [], clientId }: ExchangeSettings,
  subjectToken: string,
  isConfidential: boolean,
): string =>
  new URLSearchParams({
    grant_type: GRANT,
    subject_token: subjectToken,
    subject_token_type: subjectTokenType,
    requested_token_type: ACCESS_TOKEN,
    ...(audience !== undefined && audience !== '' && { audience }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // A public client names itself only (RFC 6749 §3.2.1).
    ...(!isConfidential && clientId !== undefined && { client_id: clientId }),
  }).toString();

/** An answer that comes, and is no answer to the exchange, counts as invalid; all else as a failure of the endpoint. */
const notAsked = (error: FetchError): ExchangeError => {
  const { reason, message, where } = error;
  return reason === 'redirected' || reason === 'body_too_large' || reason === 'head_too_large'
    ? new ExchangeError('invalid', `of the token endpoint, ${message}`, where)
    : new ExchangeError('failed', `the token endpoint could not be asked: ${message}`, where, isUnreached(error));
};

const tokenIn = ({ status, body }: FetchResponse, askedAt: number): Obtained<string> => {
  const answer = objectIn(body);
  if (status >= 300) throw refusalIn(status, answer);
  if (answer === undefined) throw invalid('is no JSON object');
  const { access_token: token, token_type: type, expires_in: seconds } = answer;
  if (typeof token !== 'string' || token === '') throw invalid('has no access_token');
  if (token.length > LONGEST || !TOKEN_TEXT.test(token)) throw invalid('has an access_token that no header can carry');
  // RFC 8693 §2.2.1: `N_A` where the token is no access token; others need a proof of possession.
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') throw invalid('has a token_type that is not Bearer');
  return { value: token, expiresAt: expiryOf(seconds, askedAt) };
};

/** Many servers take no more for all headers together. */
const LONGEST = 16 * 1024;
const TOKEN_TEXT = /^[\x21-\x7e]+$/;

/** RFC 6749 §5.1 recommends `expires_in`; some servers write it as text. */
const expiryOf = (seconds: unknown, askedAt: number): number | undefined => {
  if (seconds === undefined || seconds === null) return undefined;
  const life = typeof seconds === 'string' && /^-?\d{1,12}$/.test(seconds) ? Number(seconds) : seconds;
  if (typeof life !== 'number' || !Number.isFinite(life)) throw invalid('has an expires_in that is no number');
  if (life <= 0) throw invalid('has a token that has expired already');
  return askedAt + life * 1_000;
};

const invalid = (what: string): ExchangeError => new ExchangeError('invalid', `the token endpoint's answer ${what}`);

/** RFC 6749 §5.2, RFC 8693 §2.2.2. Any other word is not repeated: it is the endpoint's own text. */
const ERRORS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
]);

const refusalIn = (status: number, answer: Readonly<Record<string, unknown>> | undefined): ExchangeError => {
  const error = answer?.['error'];
  const detail = `HTTP ${status}`;
  if (typeof error === 'string' && ERRORS.has(error))
    return new ExchangeError('refused', `the token endpoint refuses the exchange: ${error}`, detail);
  return status >= 500 || status === 429
    ? new ExchangeError('failed', `the token endpoint failed with HTTP ${status}`, detail, status >= 500)
    : new ExchangeError('refused', `the token endpoint refuses the exchange with HTTP ${status}`, detail);
};
