import { isIP } from 'node:net';
import { isForbiddenAddress, isLoopbackAddress, isPublicAddress } from './addresses.ts';
import type { FetchFailure } from './fetch-error.ts';

/** What may be fetched, and how much it may cost. Link-local and metadata addresses are refused under every policy. */
export interface FetchPolicy {
  /** Where a request may go without TLS. */
  readonly plainHttp: 'nowhere' | 'loopback' | 'anywhere';
  readonly addresses: 'public' | 'public or private';
  /** From the request to the last byte of the answer, waiting for a connection included. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxHeadBytes: number;
  /** Origins to which connections are kept; the least recently used idle one is closed first. */
  readonly origins: number;
  /** Sockets to one origin. */
  readonly connections: number;
  /** Requests to one origin that are under way or wait for a connection. */
  readonly requests: number;
}

/** Bounds for an owner's URL: the owner chose the server, so they only guard against its faults. */
const OWNERS_BOUNDS = {
  timeoutMs: 10_000,
  maxBodyBytes: 1024 * 1024,
  maxHeadBytes: 16 * 1024,
  origins: 256,
  connections: 16,
  requests: 1_024,
} as const;

/**
 * Policies by the author and the purpose of the URL: the rules of docs/decisions.md "Addresses that may be fetched"
 * beside the one of backends.
 */
export const fetchPolicies = {
  /** Issuer, JWKS, introspection and discovery URLs, as an owner wrote them. */
  issuer: { plainHttp: 'nowhere', addresses: 'public', ...OWNERS_BOUNDS },
  /** Token, STS, upstream and registration endpoints, as an owner wrote them. */
  token: { plainHttp: 'loopback', addresses: 'public or private', ...OWNERS_BOUNDS },
  /** OTLP endpoints, as an owner wrote them. */
  telemetry: {
    ...OWNERS_BOUNDS,
    plainHttp: 'nowhere',
    addresses: 'public or private',
    maxBodyBytes: 64 * 1024,
    origins: 1,
    connections: 2,
    requests: 8,
  },
  /** The embedding service, as an owner or the operator wrote it; answers hold a batch of vectors. */
  embedding: {
    ...OWNERS_BOUNDS,
    plainHttp: 'anywhere',
    addresses: 'public or private',
    maxBodyBytes: 16 * 1024 * 1024,
    origins: 1,
    connections: 8,
    requests: 64,
  },
  /** Client metadata documents, and other URLs from unauthenticated clients. */
  stranger: {
    plainHttp: 'nowhere',
    addresses: 'public',
    timeoutMs: 5_000,
    maxBodyBytes: 64 * 1024,
    maxHeadBytes: 16 * 1024,
    origins: 64,
    // None waits for another one's connection, which a slow answer keeps for the whole timeout.
    connections: 8,
    requests: 8,
  },
} as const satisfies Readonly<Record<string, FetchPolicy>>;

/** The policy of an OTLP endpoint: plain HTTP only where its owner asks for it. */
export const telemetryPolicy = (isPlain: boolean): FetchPolicy => ({
  ...fetchPolicies.telemetry,
  plainHttp: isPlain ? 'anywhere' : 'nowhere',
});

/** What an owner may allow, each false by default. */
export interface OwnersFlags {
  /** `insecureAllowHttp` of the issuer that the URL belongs to. */
  readonly insecureAllowHttp?: boolean | undefined;
  /**
   * `jwksAllowPrivateIp`, `protectedResourceAllowPrivateIp`. The policy `token` allows private addresses in any case.
   */
  readonly allowPrivateAddresses?: boolean | undefined;
}

/** The policy of an owner's URL with the exceptions that the owner allows. There is no such function for `stranger`. */
export const ownersPolicy = (
  row: 'issuer' | 'token',
  { insecureAllowHttp = false, allowPrivateAddresses = false }: OwnersFlags,
): FetchPolicy => ({
  ...fetchPolicies[row],
  ...(insecureAllowHttp && { plainHttp: 'anywhere' }),
  ...(allowPrivateAddresses && { addresses: 'public or private' }),
});

/**
 * Why the URL may not be fetched, undefined if it may; host names are checked by `addressRefusal` once they are
 * resolved.
 */
export const urlRefusal = (policy: FetchPolicy, url: URL): FetchFailure | undefined => {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'invalid_url';
  // User info would be sent as a credential, or hide the host of the request (RFC 3986 §7.5, §7.6).
  if (url.username !== '' || url.password !== '') return 'invalid_url';
  if (url.protocol === 'http:' && policy.plainHttp === 'nowhere') return 'https_required';
  // The URL parser has turned every spelling of an IPv4 address into dotted decimals (URL Standard, "IPv4 parser").
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : addressRefusal(policy, url.protocol, host);
};

/**
 * Why no connection to this address (an IP literal without brackets) may be made for a URL with this protocol;
 * undefined if it may.
 */
export const addressRefusal = (policy: FetchPolicy, protocol: string, address: string): FetchFailure | undefined => {
  if (isForbiddenAddress(address)) return 'address_refused';
  if (policy.addresses === 'public' && !isPublicAddress(address)) return 'address_refused';
  const isPlain = protocol !== 'https:';
  if (isPlain && policy.plainHttp === 'loopback' && !isLoopbackAddress(address)) return 'https_required';
  return undefined;
};
