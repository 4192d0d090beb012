import { fetchPolicies, type GuardedFetch, networkOf } from '../../http/index.ts';
import { notAsked } from './fetch-client.ts';

export interface StrangerFetchDeps {
  readonly fetch: GuardedFetch;
  /** Counts a request for this address. Milliseconds until it may cause another one; 0: it may now. */
  readonly waitMs: (address: string | undefined) => Promise<number>;
}

/** Half of what may be under way to one origin: the other half is for other addresses. */
const REQUESTS_TO_ONE_ORIGIN = fetchPolicies.stranger.requests / 2;

/**
 * Requests that anybody can cause, each counted for the address that causes it: the one for a document, and the one for
 * the keys that the document names, which may be at any site. Rejects with NotAsked beyond the bounds.
 */
export const strangerFetch = ({
  fetch,
  waitMs,
}: StrangerFetchDeps): ((address: string | undefined) => GuardedFetch) => {
  /** Network and origin of each request that is under way. */
  const underWay: string[] = [];
  return (address) => async (request) => {
    const way = `${networkOf(address)} ${URL.parse(request.url)?.origin ?? ''}`;
    if (underWay.filter((each) => each === way).length >= REQUESTS_TO_ONE_ORIGIN) throw notAsked();
    underWay.push(way);
    try {
      const wait = await waitMs(address);
      if (wait > 0) throw notAsked(Math.ceil(wait / 1000));
      return await fetch(request);
    } finally {
      underWay.splice(underWay.indexOf(way), 1);
    }
  };
};
