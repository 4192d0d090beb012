import { type GuardedFetch, networkOf } from '../../http/index.ts';
import { type Clock, lruCache, type LruBounds, type LruCache } from '../../process/index.ts';
import { ClientError } from './client-error.ts';
import { fetchClient, MOST_FRESH_SECONDS, NotAsked, notAsked, RETRY_SECONDS, Unreadable } from './fetch-client.ts';
import type { InUseMarks } from './in-use-marks.ts';
import { keptClient } from './kept-client.ts';
import type { PublishedClient } from './metadata-document.ts';
import { strangerFetch, type StrangerFetchDeps } from './stranger-fetch.ts';

/** `fetch`: under the policy for what strangers name (docs/decisions.md "Addresses that may be fetched"). */
export interface MetadataDocumentDeps extends StrangerFetchDeps {
  /** The same for documents of clients in use, with connections of its own. */
  readonly fetchInUse: GuardedFetch;
  readonly marks: InUseMarks;
  readonly clock: Pick<Clock, 'now'>;
}

/** Clients that publish a metadata document. */
export interface PublishedClients {
  readonly find: FindPublishedClient;
  /** A user has signed in with the client of this URL: strangers displace it no more, and delay no fetch for it. */
  readonly markInUse: (url: string) => void;
}

/**
 * Fetches the client of a metadata document, or has it from before. `address`: of who asks. Throws ClientError: 401 for
 * a document that cannot be used, 503 while it cannot be had.
 */
export type FindPublishedClient = (url: string, address?: string) => Promise<PublishedClient>;

/**
 * A document that was there is taken to be gone once it is missing for this time: pages of a CDN that say so for a
 * moment log nobody out.
 */
const GONE_AFTER_SECONDS = 300;

/** What is remembered of clients in use, and of those that anybody may have named. */
export const DOCUMENT_BOUNDS = {
  inUse: { count: 1_000, bytes: 8 * 1024 * 1024 },
  others: { count: 500, bytes: 4 * 1024 * 1024 },
} as const satisfies Readonly<Record<string, LruBounds>>;

/** Fetches at one time, of clients in use, and of the others; and of the others for one address. */
const FETCHES_AT_ONCE = 32;
const FETCHES_OF_ONE_ADDRESS = 8;

interface Known {
  readonly client: PublishedClient;
  readonly bytes: number;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

interface Failed {
  readonly error: ClientError;
  readonly at: number;
  /** When the document was missing for the first time, since it was there last. */
  readonly missingSince: number | undefined;
}

/** What is remembered of one sort of clients, and what is fetched for them. */
interface DocumentCache {
  readonly fetchFor: (address: string | undefined) => GuardedFetch;
  readonly known: LruCache<Known>;
  readonly failed: LruCache<Failed>;
  /** Networks for which documents are being fetched, one entry for each fetch. */
  readonly fetching: string[];
}

const newCache = (fetchFor: DocumentCache['fetchFor'], bounds: LruBounds): DocumentCache => ({
  fetchFor,
  known: lruCache(bounds),
  failed: lruCache(bounds),
  fetching: [],
});

/** Documents by their URLs, bounded; each is fetched once at a time, whoever asks. */
export const metadataDocuments = (deps: MetadataDocumentDeps): PublishedClients => {
  const { clock, marks } = deps;
  const inUse = newCache(() => deps.fetchInUse, DOCUMENT_BOUNDS.inUse);
  const others = newCache(strangerFetch(deps), DOCUMENT_BOUNDS.others);
  const underWay = new Map<string, Promise<PublishedClient>>();
  const isInUse = (url: string): boolean => inUse.known.get(url) !== undefined || marks.isKnown(url);
  const cacheWith = (url: string): DocumentCache => (isInUse(url) ? inUse : others);

  const begin = async (url: string, cache: DocumentCache, address: string | undefined): Promise<PublishedClient> => {
    const network = networkOf(address);
    cache.fetching.push(network);
    try {
      const fetch = cache.fetchFor(address);
      // Meanwhile a user may have signed in with the client.
      return await fetchAnew(url, { fetch, cache: () => cacheWith(url), clock });
    } finally {
      cache.fetching.splice(cache.fetching.indexOf(network), 1);
      underWay.delete(url);
    }
  };

  /** What is there without a fetch. Undefined: nothing. Throws ClientError. */
  const ready = (url: string): PublishedClient | Promise<PublishedClient> | undefined => {
    const { known, failed } = cacheWith(url);
    const old = known.get(url);
    const now = clock.now();
    if (old && now < old.freshUntil) return old.client;
    const failure = failed.get(url);
    if (failure && now < failure.at + RETRY_SECONDS * 1000) return stillUsable(old, failure.error, now);
    return underWay.get(url);
  };

  const keepAsInUse = (url: string): void => {
    const known = others.known.get(url);
    const failure = others.failed.get(url);
    if (known) inUse.known.set(url, known, known.bytes + url.length);
    if (failure) inUse.failed.set(url, failure, url.length);
    others.known.delete(url);
    others.failed.delete(url);
  };

  return {
    find: async (url, address) => {
      const atOnce = ready(url);
      if (atOnce) return atOnce;
      // A user may have signed in with the client at another replica, or before a restart.
      if (!isInUse(url) && (await marks.isMarked(url))) keepAsInUse(url);
      const meanwhile = ready(url);
      if (meanwhile) return meanwhile;
      const cache = cacheWith(url);
      if (!hasRoom(cache, cache === inUse ? undefined : networkOf(address)))
        return stillUsable(cache.known.get(url), notAsked(), clock.now());
      // A copy: the id may be a slice of a whole query, which would live as long as what is remembered by it.
      const started = begin(structuredClone(url), cache, address);
      underWay.set(url, started);
      return started;
    },
    markInUse: (url) => {
      const isPublished = inUse.known.get(url) !== undefined || others.known.get(url) !== undefined;
      if (!isPublished) return;
      keepAsInUse(url);
      marks.mark(url);
    },
  };
};

/** `network`: undefined where those of one address are not counted. */
const hasRoom = ({ fetching }: DocumentCache, network: string | undefined): boolean =>
  fetching.length < FETCHES_AT_ONCE &&
  (network === undefined || fetching.filter((each) => each === network).length < FETCHES_OF_ONE_ADDRESS);

interface FetchParts {
  readonly fetch: GuardedFetch;
  /** Where the client is remembered at this moment. */
  readonly cache: () => DocumentCache;
  readonly clock: Pick<Clock, 'now'>;
}

const fetchAnew = async (url: string, { fetch, cache, clock }: FetchParts): Promise<PublishedClient> => {
  try {
    const { client: read, freshSeconds } = await fetchClient(url, fetch, clock.now());
    const { client, bytes } = keptClient(read);
    const now = clock.now();
    const { known, failed } = cache();
    known.set(url, { client, bytes, fetchedAt: now, freshUntil: now + freshSeconds * 1000 }, bytes + url.length);
    failed.delete(url);
    return client;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error instanceof NotAsked) return stillUsable(cache().known.get(url), error, clock.now());
    return afterFailure(url, cache(), { error, at: clock.now() });
  }
};

const afterFailure = (
  url: string,
  { known, failed }: DocumentCache,
  { error, at }: Pick<Failed, 'error' | 'at'>,
): PublishedClient => {
  const isMissing = error instanceof Unreadable && error.isMissing;
  const missingSince = failed.get(url)?.missingSince ?? (isMissing ? at : undefined);
  failed.set(url, { error, at, missingSince }, url.length);
  const isGone = isMissing && at >= (missingSince ?? at) + GONE_AFTER_SECONDS * 1000;
  if (error instanceof Unreadable && !isGone) return stillUsable(known.get(url), error, at);
  known.delete(url);
  throw error;
};

/**
 * An outage where the document lies must not log users out (RFC 5861 §4), nor a CDN's page in its place: the last one
 * holds for a day, until there is another one to read.
 */
const stillUsable = (old: Known | undefined, error: ClientError, now: number): PublishedClient => {
  if (!old || now >= old.fetchedAt + MOST_FRESH_SECONDS * 1000) throw error;
  return old.client;
};
