import type { RequestHead } from '../../call/index.ts';
import { canonicalResource, resourceUrlIn } from '../../config/index.ts';
import type { ResourceSettings } from './settings.ts';

/** What clients are told about this server as a protected resource (RFC 9728). */
export interface ProtectedResource {
  /** Address of the metadata, for `WWW-Authenticate` (RFC 9728 §5.1). */
  readonly metadataUrl: (head: Pick<RequestHead, 'origin'>) => string;
  /** The metadata as JSON text; undefined: nothing is served at this path. */
  readonly metadataAt: (path: string) => string | undefined;
  /** Scopes to ask for, separated by spaces; empty: none in particular. */
  readonly scope: string;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Paths of the endpoint, whatever the public URL is. */
const ENDPOINTS = ['', '/mcp', '/sse'];

/**
 * The metadata is the same at each of its addresses: those that clients form of the endpoint, and of the public URL
 * behind a proxy that adds a path, with and without a slash at the end.
 */
export const protectedResource = (settings: ResourceSettings): ProtectedResource => {
  const url = resourceUrlIn(settings.resource);
  const resource = canonicalResource(settings.resource);
  const path = url ? url.pathname.replace(/\/$/, '') : '/mcp';
  const paths = new Set([...ENDPOINTS, path].flatMap((each) => [`${WELL_KNOWN}${each}`, `${WELL_KNOWN}${each}/`]));
  const text = JSON.stringify(metadataOf(settings, resource));
  const required = settings.issuers[0]?.scopes ?? [];
  return {
    // The name under which the client has come was checked (docs/decisions.md "Hosts and origins").
    metadataUrl: (head) => `${url?.origin ?? head.origin?.() ?? 'http://localhost'}${WELL_KNOWN}${path}`,
    metadataAt: (asked) => (paths.has(asked) ? text : undefined),
    scope: (required.length > 0 ? required : advertised(settings)).join(' '),
  };
};

const metadataOf = (settings: ResourceSettings, resource: string) => {
  const scopes = advertised(settings);
  return {
    resource,
    authorization_servers: settings.issuers.map(({ issuer }) => issuer),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: settings.name,
  };
};

/**
 * Refresh tokens are a matter between client and authorization server, so `offline_access` is no scope of a resource
 * (MCP 2026-07-28 "Authorization").
 */
const advertised = ({ advertisedScopes, issuers }: ResourceSettings): readonly string[] =>
  [...new Set([...advertisedScopes, ...issuers.flatMap(({ scopes }) => scopes)])].filter(
    (scope) => scope !== 'offline_access',
  );
