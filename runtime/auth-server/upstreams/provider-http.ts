import { allowInsecureRequests, type CustomFetchOptions, customFetch } from 'oauth4webapi';
import { FetchError, type FetchRequest, type FetchResponse, type GuardedFetch } from '../../http/index.ts';
import { unavailable, type UpstreamError } from './upstream.ts';

/** A JSON object, parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Statuses that say nothing about the request itself: 408 and 425 ask for a repetition, 429 for patience. */
const saysNothing = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status);

/** GitHub refuses requests without one. */
const USER_AGENT = { 'user-agent': 'vmcp' };

/**
 * One request to a provider. `what` names what is asked in errors. Throws UpstreamError of kind `unavailable` where no
 * answer comes, or one that says nothing.
 */
export const askProvider = async (fetch: GuardedFetch, what: string, request: FetchRequest): Promise<FetchResponse> => {
  const headers = { ...USER_AGENT, ...request.headers };
  const response = await fetch({ ...request, headers }).catch((error: unknown) => {
    throw error instanceof FetchError ? notReached(what, error) : error;
  });
  if (saysNothing(response.status)) throw unavailable(`http_${response.status}`, `${what}: HTTP ${response.status}`);
  return response;
};

const notReached = (what: string, { message, detail, origin, reason }: FetchError): UpstreamError => {
  const where = [detail, origin].filter((each) => each !== undefined).join(', ');
  return unavailable(reason, `${what}: ${where === '' ? message : `${message} (${where})`}`);
};

/** Options by which oauth4webapi sends its requests through the guarded client. */
export const sentThrough = (fetch: GuardedFetch, what: string) => ({
  // Where plain HTTP may go is up to the client.
  [allowInsecureRequests]: true,
  [customFetch]: async (url: string, { method, headers, body }: CustomFetchOptions<string, unknown>) => {
    const isForm = body instanceof URLSearchParams;
    const response = await askProvider(fetch, what, {
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers, ...USER_AGENT },
      ...((isForm || typeof body === 'string') && { body: String(body) }),
    });
    // A Response with one of these statuses has no body.
    const bytes = [204, 205, 304].includes(response.status) ? null : Uint8Array.from(response.body);
    return new Response(bytes, { status: response.status, headers: contentTypeOf(response) });
  },
});

const contentTypeOf = ({ headers }: FetchResponse): Record<string, string> => {
  const type = headers['content-type'];
  return typeof type === 'string' ? { 'content-type': type } : {};
};

/**
 * The JSON object in an answer. Whole numbers that a double cannot hold exactly are read as text, so that two ids never
 * become one. Throws UpstreamError of kind `unavailable` where there is none.
 */
export const objectIn = (what: string, text: string): JsonObject => {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unavailable('not_json', `${what}: the answer is no JSON object`);
  return value as JsonObject;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text, exactly);
  } catch {
    return undefined;
  }
};

/** https://tc39.es/proposal-json-parse-with-source/ */
const exactly = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? context?.source : value;
