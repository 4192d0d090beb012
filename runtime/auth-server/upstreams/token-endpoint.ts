import type { ClientAuth } from 'oauth4webapi';
import { type ClientAuthentication, clientAuthentications, type UpstreamClient } from './client-authentication.ts';
import { type JsonObject, objectIn } from './provider-http.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import { saidNo } from './refusal-codes.ts';
import { unavailable, UpstreamError } from './upstream.ts';

/** Sends the request of one grant, authenticated so. */
export type SendGrant = (authentication: ClientAuth) => Promise<Response>;

/** The token endpoint of one provider, which remembers how the client authenticates there. */
export interface TokenEndpoint {
  /** The answer, a JSON object without an error. Throws UpstreamError. */
  readonly ask: (client: UpstreamClient, metadata: ProviderMetadata, send: SendGrant) => Promise<JsonObject>;
  /** The same for an endpoint whose answer says nothing but whether it worked (RFC 7009 §2.2). */
  readonly tell: (client: UpstreamClient, metadata: ProviderMetadata, send: SendGrant) => Promise<void>;
}

/** Errors (RFC 6749 §5.2) that only a client gets that has authenticated: another way would change nothing. */
const AUTHENTICATED: ReadonlySet<string> = new Set([
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'access_denied',
]);

export const tokenEndpoint = (): TokenEndpoint => {
  let known: string | undefined;
  const waysOf = (client: UpstreamClient, metadata: ProviderMetadata): readonly ClientAuthentication[] => {
    const ways = clientAuthentications(client, metadata.token_endpoint_auth_methods_supported);
    return ways.toSorted((a, b) => Number(b.method === known) - Number(a.method === known));
  };
  const authenticated =
    <T>(read: (response: Response) => Promise<T>) =>
    async (client: UpstreamClient, metadata: ProviderMetadata, send: SendGrant): Promise<T> => {
      let refusal: unknown;
      for (const { method, authenticate } of waysOf(client, metadata)) {
        try {
          const answer = await read(await sent(send, authenticate));
          known = method;
          return answer;
        } catch (error) {
          if (!mayBeTheWay(error)) throw error;
          refusal = error;
        }
      }
      throw refusal;
    };
  return { ask: authenticated(answerIn), tell: authenticated(checkWorked) };
};

const checkWorked = async ({ status }: Response): Promise<void> => {
  if (status >= 300) throw unavailable(`http_${status}`, `the endpoint answers HTTP ${status}`);
};

/** The package throws errors of its own where the metadata has no token endpoint. */
const sent = (send: SendGrant, authenticate: ClientAuth): Promise<Response> =>
  send(authenticate).catch((error: unknown) => {
    throw error instanceof UpstreamError ? error : unavailable('invalid_response', `${WHAT} is not known`);
  });

/** A client that is not known by this way gets any 4xx, in or out of the protocol. */
const mayBeTheWay = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.kind === 'refused' ? !AUTHENTICATED.has(error.code) : /^http_40[0134]$/.test(error.code));

const WHAT = 'the token endpoint';

/** GitHub and Slack answer 200 to what they refuse; GitHub in a form, unless it heeds `Accept`. */
const answerIn = async (response: Response): Promise<JsonObject> => {
  const { status, headers } = response;
  const text = await response.text();
  const isForm = headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') === true;
  const answer = isForm ? Object.fromEntries(new URLSearchParams(text)) : objectOf(status, text);
  const { error } = answer;
  if (typeof error === 'string' && error !== '') throw saidNo(WHAT, error);
  if (status >= 300) throw unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`);
  return answer;
};

/** An error in no form of the protocol is as good as none: a proxy on the way may have written it. */
const objectOf = (status: number, text: string): JsonObject => {
  try {
    return objectIn(WHAT, text);
  } catch (error) {
    throw status >= 300 ? unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`) : error;
  }
};
