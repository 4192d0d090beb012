import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIP } from 'node:net';

const neverFetched = new BlockList();
// RFC 3927, RFC 4291 §2.5.6: link-local. The clouds' metadata services live there.
neverFetched.addSubnet('169.254.0.0', 16, 'ipv4');
neverFetched.addSubnet('fe80::', 10, 'ipv6');
// Metadata services with other addresses: AWS, Google and Oracle over IPv6, Alibaba, Azure's wire server, Oracle.
neverFetched.addSubnet('fd00:ec2::', 32, 'ipv6');
neverFetched.addAddress('fd20:ce::254', 'ipv6');
neverFetched.addSubnet('fd00:c1::', 32, 'ipv6');
neverFetched.addAddress('100.100.100.200', 'ipv4');
neverFetched.addAddress('168.63.129.16', 'ipv4');
neverFetched.addAddress('192.0.0.192', 'ipv4');

/**
 * IPv6 prefixes that are followed by an IPv4 address, with the index of the 16-bit group where it begins (RFC 4291
 * §2.5.5, RFC 2765, RFC 6052, RFC 8215, RFC 3056).
 */
const embeddings: readonly (readonly [string, number, number])[] = [
  ['::', 96, 6],
  ['::ffff:0:0', 96, 6],
  ['::ffff:0:0:0', 96, 6],
  ['64:ff9b::', 96, 6],
  ['64:ff9b:1::', 48, 6],
  ['2002::', 16, 1],
];
const embedding = embeddings.map(([prefix, bits, group]) => {
  const list = new BlockList();
  list.addSubnet(prefix, bits, 'ipv6');
  return { list, group };
});

/**
 * Link-local and metadata addresses, in IPv4, IPv6 and every form that embeds IPv4. `address` is an IP literal without
 * brackets.
 */
export const isForbiddenAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 4) return neverFetched.check(address, 'ipv4');
  const plain = withoutZone(address);
  return neverFetched.check(plain, 'ipv6') || embeddedIn(plain).some((inner) => neverFetched.check(inner, 'ipv4'));
};

/** A zone (`fe80::1%eth0`) makes no difference. */
const withoutZone = (address: string): string => address.split('%')[0] ?? address;

const subnets = (family: 'ipv4' | 'ipv6', blocks: readonly (readonly [string, number])[]): BlockList => {
  const list = new BlockList();
  for (const [prefix, bits] of blocks) list.addSubnet(prefix, bits, family);
  return list;
};

/** Blocks that are not globally reachable or were withdrawn (IANA IPv4 Special-Purpose Address Registry, RFC 6890). */
const specialIpv4 = subnets('ipv4', [
  ['0.0.0.0', 8], // RFC 791: this network; 0.0.0.0 itself leads to the own host
  ['10.0.0.0', 8], // RFC 1918
  ['100.64.0.0', 10], // RFC 6598: behind a carrier's NAT, and the pods of some clouds
  ['127.0.0.0', 8], // RFC 1122: loopback
  ['169.254.0.0', 16], // RFC 3927: link-local
  ['172.16.0.0', 12], // RFC 1918
  ['192.0.0.0', 24], // RFC 6890: protocol assignments
  ['192.0.2.0', 24], // RFC 5737: documentation
  ['192.88.99.0', 24], // RFC 7526: relays of 6to4, withdrawn
  ['192.168.0.0', 16], // RFC 1918
  ['198.18.0.0', 15], // RFC 2544: benchmarks
  ['198.51.100.0', 24], // RFC 5737: documentation
  ['203.0.113.0', 24], // RFC 5737: documentation
  ['224.0.0.0', 4], // RFC 5771: multicast
  ['240.0.0.0', 4], // RFC 1112: reserved, and the broadcast address
]);

/**
 * The block from which IANA assigns IPv6 addresses (RFC 4291 §2.4); all others are local, multicast, embedded or
 * reserved.
 */
const unicastIpv6 = subnets('ipv6', [['2000::', 3]]);

/**
 * Parts of that block that are not globally reachable or were withdrawn (IANA IPv6 Special-Purpose Address Registry).
 */
const specialIpv6 = subnets('ipv6', [
  ['2001::', 23], // RFC 2928: protocol assignments, among them Teredo, which embeds IPv4
  ['2001:db8::', 32], // RFC 3849: documentation
  ['2002::', 16], // RFC 7526: 6to4, withdrawn, which embeds IPv4
  ['3fff::', 20], // RFC 9637: documentation
]);

/**
 * Where a network has IPv6 only, its resolver answers with these for names that have IPv4 addresses only (RFC 6052, RFC
 * 6147).
 */
const nat64 = subnets('ipv6', [['64:ff9b::', 96]]);

/**
 * Globally reachable, as far as an address can tell: neither private, local, reserved, for documentation nor a metadata
 * service's, in any form. `address` is an IP literal without brackets; no other text is public.
 */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 0 || isForbiddenAddress(address)) return false;
  if (family === 4) return !specialIpv4.check(address, 'ipv4');
  const plain = withoutZone(address);
  if (nat64.check(plain, 'ipv6')) return !embeddedIn(plain).some((inner) => specialIpv4.check(inner, 'ipv4'));
  return unicastIpv6.check(plain, 'ipv6') && !specialIpv6.check(plain, 'ipv6');
};

const loopback = subnets('ipv4', [['127.0.0.0', 8]]);
loopback.addAddress('::1', 'ipv6');

/**
 * Whether the address is the own host's: 127.0.0.0/8, the same mapped into IPv6 (RFC 4291 §2.5.5.2), and ::1. Forms
 * that another host would have to translate are not loopback. `address` is an IP literal without brackets; no other
 * text is loopback.
 */
export const isLoopbackAddress = (address: string): boolean => {
  const family = isIP(address);
  // A BlockList treats a mapped address as its IPv4 address.
  return family !== 0 && loopback.check(withoutZone(address), family === 4 ? 'ipv4' : 'ipv6');
};

const embeddedIn = (address: string): string[] => {
  const inside = embedding.filter(({ list }) => list.check(address, 'ipv6'));
  if (inside.length === 0) return [];
  const groups = groupsOf(address);
  return inside.map(({ group }) => {
    const [high = 0, low = 0] = groups.slice(group, group + 2);
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  });
};

/** The eight groups of an IPv6 address. */
const groupsOf = (address: string): number[] => {
  // The URL parser writes any spelling, dotted ends included, in hexadecimal groups.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  return writtenGroupsOf(plain).map((group) => Number.parseInt(group, 16));
};

/** The eight groups as written, for an address without a dotted end; `::` is expanded to zeros (RFC 4291 §2.2). */
export const writtenGroupsOf = (address: string): readonly string[] => {
  const [head = [], tail = []] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail];
};

/** The address is link-local or of a metadata service, and is never contacted. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Finds all addresses of a name, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** A `lookup` as `net.connect` takes it. */
export type Lookup = (hostname: string, options: LookupOptions, callback: LookupCallback) => void;

/**
 * A `lookup` for `net.connect` that fails if `refusalOf` returns an error for any address of the name. The connection
 * is made to the checked address itself, so a name that resolves differently the next time gains nothing.
 */
export const checkedLookup =
  (refusalOf: (address: string, hostname: string) => Error | undefined, resolve: Resolve = systemLookup): Lookup =>
  (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      for (const { address } of addresses) {
        const refusal = refusalOf(address, hostname);
        if (refusal) return callback(refusal, []);
      }
      const [first] = addresses;
      if (options.all === true || !first) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });

/** A `checkedLookup` that refuses link-local and metadata addresses. */
export const guardedLookup: Lookup = checkedLookup((address, hostname) =>
  isForbiddenAddress(address)
    ? new ForbiddenAddressError(`${hostname} leads to a link-local or metadata address`)
    : undefined,
);

/**
 * The first 64 bits of an IPv6 address, since a host with one such address has all that begin like it (RFC 4291
 * §2.5.1); others as they are.
 */
export const networkOf = (address = ''): string =>
  address.includes(':') && !address.includes('.')
    ? writtenGroupsOf(address).slice(0, NETWORK_GROUPS).join(':')
    : address;

const NETWORK_GROUPS = 4;
