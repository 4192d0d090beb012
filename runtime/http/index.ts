/**
 * HTTP below MCP: listening, whole bodies, and fetching URLs that come from outside. Every such URL goes through
 * `guarded-fetch.ts`, which checks the address when it connects (docs/secrets.md, docs/limits.md). Start there.
 */

export { FetchError, asFetchError, type FetchFailure } from './fetch-error.ts';
export {
  ForbiddenAddressError,
  type Lookup,
  type Resolve,
  checkedLookup,
  guardedLookup,
  isForbiddenAddress,
  isLoopbackAddress,
  isPublicAddress,
  networkOf,
  writtenGroupsOf,
} from './addresses.ts';
export { type BundleFile, type UnusableBundle, bundleConnector } from './ca-bundle-connector.ts';
export {
  type FetchPolicy,
  type OwnersFlags,
  addressRefusal,
  fetchPolicies,
  ownersPolicy,
  urlRefusal,
} from './fetch-policy.ts';
export { GrowableBuffer } from './growable-buffer.ts';
export {
  type FetchRequest,
  type FetchResponse,
  type GuardedClient,
  type GuardedFetch,
  type GuardedFetchDeps,
  guardedFetch,
} from './guarded-fetch.ts';
export { type ListenAt, type Listener, listen } from './listen.ts';
export { listeningOrigin } from './listening-origin.ts';
export { NO_PIPELINING, WholeBody } from './whole-body.ts';
