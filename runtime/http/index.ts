/**
 * HTTP below MCP: listening, whole bodies, and fetching URLs that come from outside. Every such URL goes through
 * `guarded-fetch.ts`, which checks the address when it connects (docs/secrets.md, docs/limits.md). Start there.
 */

export {
  ForbiddenAddressError,
  guardedLookup,
  isForbiddenAddress,
  isLoopbackAddress,
  networkOf,
  writtenGroupsOf,
} from './addresses.ts';
export { bundleConnector } from './ca-bundle-connector.ts';
export { basicAuthorization } from './client-authentication.ts';
export { FetchError } from './fetch-error.ts';
export { type FetchPolicy, fetchPolicies, ownersPolicy, telemetryPolicy } from './fetch-policy.ts';
export { GrowableBuffer } from './growable-buffer.ts';
export {
  type FetchRequest,
  type FetchResponse,
  type GuardedClient,
  type GuardedFetch,
  guardedFetch,
} from './guarded-fetch.ts';
export { listen, listeningOrigin } from './listen.ts';
export { NO_PIPELINING, WholeBody } from './whole-body.ts';
