import { FetchError, type FetchResponse, type GuardedFetch } from '../../http/index.ts';
import { type Clock, lruCache } from '../../process/index.ts';
import { cacheLifetimeSeconds } from './cache-lifetime.ts';
import { ClientError } from './client-error.ts';
import { jsonIn, keySetIn, type PublishedClient, readMetadataDocument } from './metadata-document.ts';

export interface MetadataDocumentDeps {
  /** Under the policy for what strangers name (docs/decisions.md "Addresses that may be fetched"). */
  readonly fetch: GuardedFetch;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Fetches the client of a metadata document, or has it from before. Throws ClientError: 401 for a document that cannot
 * be used, 503 while it cannot be had.
 */
export type FindPublishedClient = (url: string) => Promise<PublishedClient>;

/** Shortest and longest time that a document is used without being asked for again, whatever its header fields say. */
const LEAST_FRESH_SECONDS = 60;
const MOST_FRESH_SECONDS = 24 * 3_600;
/** Keys that are fetched are asked for again sooner: a client that replaces them waits until then. */
const MOST_FRESH_KEYS_SECONDS = 600;

/**
 * A document that was there is taken to be gone once it is missing for this time: pages of a CDN that say so for a
 * moment log nobody out.
 */
const GONE_AFTER_SECONDS = 300;

/**
 * After a failure, the server that has the document is left in peace for so long: clients whom nobody knows must not
 * make this one ask it again and again. No answer of an error is used as a document.
 */
const RETRY_SECONDS = 10;

const BOUNDS = { count: 1_000, bytes: 8 * 1024 * 1024 };
const FETCHES_AT_ONCE = 32;

interface Known {
  readonly client: PublishedClient;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

interface Failed {
  readonly error: ClientError;
  readonly at: number;
  /** When the document was missing for the first time, since it was there last. */
  readonly missingSince: number | undefined;
}

/** Documents by their URLs, bounded; each is fetched once at a time, whoever asks. */
export const metadataDocuments = ({ fetch, clock }: MetadataDocumentDeps): FindPublishedClient => {
  const known = lruCache<Known>(BOUNDS);
  const failed = lruCache<Failed>(BOUNDS);
  const underWay = new Map<string, Promise<PublishedClient>>();

  const fetchAnew = async (url: string, old: Known | undefined): Promise<PublishedClient> => {
    try {
      const { client, freshSeconds, bytes } = await fetched(url, fetch, clock.now());
      const now = clock.now();
      known.set(url, { client, fetchedAt: now, freshUntil: now + freshSeconds * 1000 }, bytes + url.length);
      failed.delete(url);
      return client;
    } catch (thrown) {
      const error = asClientError(thrown);
      const at = clock.now();
      const isMissing = error instanceof Unreadable && error.isMissing;
      const missingSince = failed.get(url)?.missingSince ?? (isMissing ? at : undefined);
      failed.set(url, { error, at, missingSince }, url.length);
      const isGone = isMissing && at >= (missingSince ?? at) + GONE_AFTER_SECONDS * 1000;
      if (error instanceof Unreadable && !isGone) return stillUsable(old, error);
      known.delete(url);
      throw error;
    }
  };

  /**
   * An outage where the document lies must not log users out (RFC 5861 §4), nor a CDN's page in its place: the last
   * one holds for a day, until there is another one to read.
   */
  const stillUsable = (old: Known | undefined, error: ClientError): PublishedClient => {
    if (!old || clock.now() >= old.fetchedAt + MOST_FRESH_SECONDS * 1000) throw error;
    return old.client;
  };

  return async (url) => {
    const old = known.get(url);
    if (old && clock.now() < old.freshUntil) return old.client;
    const failure = failed.get(url);
    if (failure && clock.now() < failure.at + RETRY_SECONDS * 1000) return stillUsable(old, failure.error);
    const running = underWay.get(url);
    if (running) return running;
    if (underWay.size >= FETCHES_AT_ONCE) return stillUsable(old, unavailable());
    const started = fetchAnew(url, old).finally(() => underWay.delete(url));
    underWay.set(url, started);
    return started;
  };
};

interface Fetched {
  readonly client: PublishedClient;
  readonly freshSeconds: number;
  readonly bytes: number;
}

const fetched = async (url: string, fetch: GuardedFetch, now: number): Promise<Fetched> => {
  const response = await jsonAt(url, fetch, 'metadata document');
  const client = readMetadataDocument(url, response.body);
  if (typeof client === 'string' && jsonIn(response.body) === undefined) throw unreadable(client);
  if (typeof client === 'string') throw refused(client);
  const freshSeconds = within(cacheLifetimeSeconds(response.headers, now), MOST_FRESH_SECONDS);
  const bytes = response.body.length;
  if (client.jwksUri === undefined) return { client, freshSeconds, bytes };
  const keys = await jsonAt(client.jwksUri, fetch, 'key set');
  const value = jsonIn(keys.body);
  const jwks = keySetIn(value);
  if (!jwks) throw (value === undefined ? unreadable : refused)('its jwks_uri leads to no JSON Web Key Set');
  const freshKeysSeconds = within(cacheLifetimeSeconds(keys.headers, now), MOST_FRESH_KEYS_SECONDS);
  return {
    client: { ...client, jwks, jwksUri: undefined },
    freshSeconds: Math.min(freshSeconds, freshKeysSeconds),
    bytes: bytes + keys.body.length,
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
class Unreadable extends ClientError {
  readonly isMissing: boolean;

  constructor({ statusCode, error_description: description, retryAfterSeconds }: ClientError, isMissing = false) {
    super(statusCode, description, retryAfterSeconds);
    this.isMissing = isMissing;
  }
}

const refused = (reason: string): ClientError =>
  new ClientError(401, `the client's metadata document cannot be used: ${reason}`);

const unreadable = (reason: string, isMissing?: boolean): Unreadable => new Unreadable(refused(reason), isMissing);

const unavailable = (): Unreadable =>
  new Unreadable(
    new ClientError(503, "the client's metadata document cannot be fetched at the moment; try again", RETRY_SECONDS),
  );

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
  return AUTHORS_FAULT.has(thrown.reason) ? unreadable(thrown.message) : unavailable();
};
