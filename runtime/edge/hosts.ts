import { isIP } from 'node:net';
import { senderBehind, type SenderOf } from './forwarded.ts';

/** Configuration of `hostCheck`. */
export interface HostRules {
  /** Host names beside IP literals and `localhost`, without port. */
  readonly allowedHosts: readonly string[];
  /** Origins beside loopback to loopback. */
  readonly allowedOrigins: readonly string[];
  /** Addresses and CIDR blocks of trusted proxies. */
  readonly trustedProxies: readonly string[];
  /** The public URL; its host and its origin are allowed. */
  readonly resourceUrl?: string;
}

/** Checks of the Host and Origin headers. */
export interface HostCheck {
  readonly senderOf: SenderOf;
  readonly isHostAllowed: (host: string | undefined) => boolean;
  /** A request without Origin does not come from a web page and needs no check. */
  readonly isOriginAllowed: (origin: string, host: string | undefined) => boolean;
}

/** The rules of docs/decisions.md "Hosts and origins", against DNS rebinding and foreign web pages. */
export const hostCheck = (rules: HostRules): HostCheck => {
  const resource = rules.resourceUrl === undefined ? null : URL.parse(rules.resourceUrl);
  const names = new Set(['localhost', ...rules.allowedHosts, ...(resource ? [resource.hostname] : [])].map(plainName));
  const origins = new Set([...rules.allowedOrigins.map((origin) => URL.parse(origin)?.origin), resource?.origin]);
  const isHostAllowed = (host: string | undefined): boolean => {
    const name = hostName(host);
    // Rebinding needs a name that an attacker controls; an address is not one.
    return name !== undefined && (isAddress(name) || names.has(name));
  };
  const isOriginAllowed = (origin: string, host: string | undefined): boolean => {
    const from = URL.parse(origin);
    // Only an origin as browsers write it is sent back as it came (RFC 6454 §6.2).
    if (!from || from.origin === 'null' || from.origin !== origin) return false;
    return origins.has(from.origin) || (isLoopback(plainName(from.hostname)) && isLoopback(hostName(host)));
  };
  return { senderOf: senderBehind(rules.trustedProxies), isHostAllowed: remembering(isHostAllowed), isOriginAllowed };
};

/** Nearly every request names the same host. */
const remembering = (check: (host: string | undefined) => boolean): ((host: string | undefined) => boolean) => {
  let last: string | undefined;
  return (host) => {
    if (host !== undefined && host === last) return true;
    const isAllowed = check(host);
    if (isAllowed) last = host;
    return isAllowed;
  };
};

/** Lower case and without the dot that ends a fully qualified name. */
const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** The name in a Host header (RFC 9110 §7.2), without port; undefined when it is none. */
const hostName = (host: string | undefined): string | undefined => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/.exec(host ?? '');
  return match?.[1] === undefined ? undefined : plainName(match[1]);
};

const isAddress = (name: string): boolean => isIP(withoutBrackets(name)) !== 0;

const withoutBrackets = (name: string): string => name.replace(/^\[|\]$/g, '');

const isLoopback = (name: string | undefined): boolean => {
  if (name === undefined) return false;
  const plain = withoutBrackets(name);
  return plain === 'localhost' || plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
};
