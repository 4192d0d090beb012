import { FetchError, type FetchResponse, type GuardedFetch } from '../../http/index.ts';
import { cacheLifetimeSeconds } from './cache-lifetime.ts';
import { ClientError } from './client-error.ts';
import { jsonIn, keySetIn, type PublishedClient, readMetadataDocument } from './metadata-document.ts';

/** Shortest and longest time that a document is used without being asked for again, whatever its header fields say. */
const LEAST_FRESH_SECONDS = 60;
export const MOST_FRESH_SECONDS = 24 * 3_600;
/** Keys that are fetched are asked for again sooner: a client that replaces them waits until then. */
const MOST_FRESH_KEYS_SECONDS = 600;

/** After a failure, the server that has the document is left in peace for so long. */
export const RETRY_SECONDS = 10;

/** A client as its document says, and how long that may be used. */
export interface FetchedClient {
  readonly client: PublishedClient;
  readonly freshSeconds: number;
}

/** Fetches the document at this URL, and its keys. Throws ClientError. */
export const fetchClient = async (url: string, fetch: GuardedFetch, now: number): Promise<FetchedClient> => {
  try {
    return await fetched(url, fetch, now);
  } catch (thrown) {
    throw asClientError(thrown);
  }
};

const fetched = async (url: string, fetch: GuardedFetch, now: number): Promise<FetchedClient> => {
  const response = await jsonAt(url, fetch, 'metadata document');
  const client = readMetadataDocument(url, response.body);
  if (typeof client === 'string' && jsonIn(response.body) === undefined) throw unreadable(client);
  if (typeof client === 'string') throw refused(client);
  const freshSeconds = within(cacheLifetimeSeconds(response.headers, now), MOST_FRESH_SECONDS);
  if (client.jwksUri === undefined) return { client, freshSeconds };
  const keys = await jsonAt(client.jwksUri, fetch, 'key set');
  const value = jsonIn(keys.body);
  const jwks = keySetIn(value);
  if (!jwks)
    throw (value === undefined ? unreadable : refused)('its jwks_uri leads to no JSON Web Key Set of public keys');
  const freshKeysSeconds = within(cacheLifetimeSeconds(keys.headers, now), MOST_FRESH_KEYS_SECONDS);
  return {
    client: { ...client, jwks, jwksUri: undefined },
    freshSeconds: Math.min(freshSeconds, freshKeysSeconds),
  };
};

const within = (seconds: number, most: number): number => Math.min(most, Math.max(LEAST_FRESH_SECONDS, seconds));

/**
 * Answers other than 200 with JSON are none (draft-ietf-oauth-client-id-metadata-document-02 §5); a server in trouble
 * is asked again.
 */
const jsonAt = async (url: string, fetch: GuardedFetch, what: string): Promise<FetchResponse> => {
  const response = await fetch({ url, headers: { accept: 'application/json' } });
  const { status, headers } = response;
  if (status >= 500 || status === 429 || status === 408) throw unavailable();
  if (status !== 200)
    throw unreadable(`the answer to a request for its ${what} has the status ${status}`, MISSING.has(status));
  // A page that somebody may upload to a well-known host must not become a client there.
  if (!JSON_TYPE.test(String(headers['content-type'])))
    throw unreadable(`its ${what} is not of the type application/json`);
  return response;
};

const JSON_TYPE = /^application\/([\w.-]+\+)?json[\t ]*(;|$)/i;

/** Statuses that say that there is no document. */
const MISSING: ReadonlySet<number> = new Set([404, 410]);

/** There was no document to read, which says nothing about an earlier one. */
export class Unreadable extends ClientError {
  readonly isMissing: boolean;

  constructor({ statusCode, error_description: description, retryAfterSeconds }: ClientError, isMissing = false) {
    super(statusCode, description, retryAfterSeconds);
    this.isMissing = isMissing;
  }
}

const refused = (reason: string): ClientError =>
  new ClientError(401, `the client's metadata document cannot be used: ${reason}`);

const unreadable = (reason: string, isMissing?: boolean): Unreadable => new Unreadable(refused(reason), isMissing);

/** Bounds of this server keep it from asking, which is no failure of the server that has the document. */
export class NotAsked extends Unreadable {}

export const notAsked = (retryAfterSeconds = RETRY_SECONDS): NotAsked => new NotAsked(awayFor(retryAfterSeconds));

/** What passes by itself. */
const unavailable = (): Unreadable => new Unreadable(awayFor(RETRY_SECONDS));

const awayFor = (retryAfterSeconds: number): ClientError =>
  new ClientError(503, "the client's metadata document cannot be fetched at the moment; try again", retryAfterSeconds);

/** Reasons of the guarded client that lie with the document's author, and not with the moment. */
const AUTHORS_FAULT: ReadonlySet<FetchError['reason']> = new Set([
  'invalid_url',
  'https_required',
  'address_refused',
  'redirected',
  'head_too_large',
  'body_too_large',
]);

const asClientError = (thrown: unknown): ClientError => {
  if (thrown instanceof ClientError) return thrown;
  if (!(thrown instanceof FetchError)) throw thrown;
  if (thrown.reason === 'busy') return notAsked();
  return AUTHORS_FAULT.has(thrown.reason) ? unreadable(thrown.message) : unavailable();
};
