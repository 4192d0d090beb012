import { basicAuthorization, type GuardedClient } from '../../http/index.ts';
import { lineWindows, type Log } from '../../observe/index.ts';
import type { ReadSecret } from '../../process/index.ts';
import type { AuthenticationMetrics } from './authentication-metrics.ts';
import { CLIENT_SUBJECT, judgeClaims } from './claims.ts';
import { askIssuer, IssuerUnreachableError } from './issuer-client.ts';
import { issuerUnavailable } from './refusals.ts';
import type { IntrospectionSettings, IssuerSettings } from './settings.ts';
import { type Claims, CLOCK_TOLERANCE_SECONDS, invalid, type Verdict } from './verdict.ts';

export interface IntrospectionDeps {
  readonly client: Pick<GuardedClient, 'fetch'>;
  readonly readSecret: ReadSecret;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  readonly metrics: Pick<AuthenticationMetrics, 'asking'>;
  /** The endpoint from the metadata of the issuer; undefined where it has none. Throws IssuerUnreachableError. */
  readonly discoverEndpoint: () => Promise<string | undefined>;
}

/** Asks the issuer about an opaque token (RFC 7662). */
export type Introspect = (token: string) => Promise<Verdict>;

/**
 * Throws `issuer_unavailable` where there is no answer to rely on, which says nothing about the token. The secret is
 * read for every question, so that it can rotate.
 */
export const introspection = (
  issuer: IssuerSettings,
  settings: IntrospectionSettings,
  deps: IntrospectionDeps,
): Introspect => {
  const leftOut = lineWindows(deps.now);
  const tell = (reason: string): void => {
    const unsaid = leftOut(reason);
    if (unsaid === undefined) return;
    deps.log.warn({ issuer: issuer.issuer, reason, ...(unsaid > 0 && { unsaid }) }, 'opaque tokens cannot be checked');
  };
  return async (token) => {
    try {
      const ask = () => answerAbout(token, settings, deps);
      const answer = await deps.metrics.asking(issuer.issuer, 'introspection', ask);
      return judgeAnswer(answer, issuer, deps.now());
    } catch (error) {
      if (!(error instanceof IssuerUnreachableError)) throw error;
      if (!error.isClosed) tell(error.message);
      throw issuerUnavailable(error.message);
    }
  };
};

const WHAT = 'introspection';

const answerAbout = async (
  token: string,
  { url, clientId, clientSecret }: IntrospectionSettings,
  { client, readSecret, discoverEndpoint }: IntrospectionDeps,
): Promise<Claims> => {
  const endpoint = url ?? (await discoverEndpoint());
  if (endpoint === undefined) throw new IssuerUnreachableError(WHAT, 'the issuer names no introspection endpoint');
  const secret = clientSecret && (await readSecret(clientSecret).catch(() => undefined));
  if (clientSecret && secret === undefined) throw new IssuerUnreachableError(WHAT, 'the client secret cannot be read');
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
  if (secret === undefined) form.set('client_id', clientId);
  const { status, object } = await askIssuer(client, WHAT, {
    url: endpoint,
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(secret !== undefined && { authorization: basicAuthorization(clientId, secret) }),
    },
    body: form.toString(),
  });
  if (object !== undefined) return object;
  const isOurs = status === 401 || status === 403;
  throw new IssuerUnreachableError(WHAT, `HTTP ${status}${isOurs ? ', the client is not accepted' : ''}`);
};

const judgeAnswer = ({ active, ...claims }: Claims, issuer: IssuerSettings, now: number): Verdict => {
  if (active !== true) return invalid('inactive', 'the token is not active');
  const { iss, aud, exp, nbf } = claims;
  if (iss !== undefined && iss !== issuer.issuer) return invalid('wrong_issuer', 'the token is of another issuer');
  if (![aud].flat().some((each) => issuer.audiences.includes(each as string)))
    return invalid('wrong_audience', 'the token is for another audience');
  const expiresAt = exp === undefined ? undefined : millisecondsOf(exp, CLOCK_TOLERANCE_SECONDS);
  if (expiresAt !== undefined && !(expiresAt > now)) return invalid('expired', 'the token has expired');
  if (nbf !== undefined && !(millisecondsOf(nbf, -CLOCK_TOLERANCE_SECONDS) <= now))
    return { ...invalid('not_yet_valid', 'the token is not valid yet'), mayBecomeValid: true };
  const client = clientAlone(claims);
  if (client === undefined) return judgeClaims(claims, expiresAt, issuer);
  return asClient(client, judgeClaims({ ...claims, sub: client }, expiresAt, issuer));
};

/**
 * The client of a token in which no user is involved: issuers leave `sub` out there (RFC 7662 §2.2 lets them). Where
 * there is a `username`, a user is involved, and the client must not stand for them.
 */
const clientAlone = ({ sub, username, client_id: client }: Claims): string | undefined =>
  sub === undefined && username === undefined && typeof client === 'string' && client !== '' ? client : undefined;

/**
 * A client is never the user whose subject is equal to the client's id (RFC 9700 §4.15), which clients may choose
 * themselves. So its subject has a form that `judgeClaims` takes from nobody.
 */
const asClient = (client: string, verdict: Verdict): Verdict => {
  if (verdict.kind === 'refused') return verdict;
  const subject = `${CLIENT_SUBJECT}${client}`;
  return { ...verdict, subject, claims: Object.freeze({ ...verdict.claims, sub: subject }) };
};

/** NaN for what is no time. */
const millisecondsOf = (seconds: unknown, tolerance: number): number =>
  typeof seconds === 'number' ? (seconds + tolerance) * 1_000 : Number.NaN;
