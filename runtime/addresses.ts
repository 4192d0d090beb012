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

/** IPv6 prefixes behind which an IPv4 address lies, by the 16-bit group it begins with (RFC 4291 §2.5.5, RFC 2765, RFC 6052, RFC 8215, RFC 3056). */
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

/** Link-local and metadata addresses, in IPv4, IPv6 and every form that embeds IPv4. `address` is an IP literal without brackets. */
export const isForbiddenAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 4) return neverFetched.check(address, 'ipv4');
  // A zone (`fe80::1%eth0`) makes no difference.
  const plain = address.split('%')[0] ?? address;
  return neverFetched.check(plain, 'ipv6') || embeddedIn(plain).some((inner) => neverFetched.check(inner, 'ipv4'));
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

/** The same as they are written, in an address without a dotted end; `::` stands for zeros (RFC 4291 §2.2). */
export const writtenGroupsOf = (address: string): readonly string[] => {
  const [head = [], tail = []] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail];
};

export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * A `lookup` for `net.connect` that refuses forbidden addresses. The connection is made to the very address that was
 * checked, so a name that changes its mind between two look-ups gains nothing.
 */
export const guardedLookup = (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const bad = addresses.find(({ address }) => isForbiddenAddress(address));
    if (bad) return callback(new ForbiddenAddressError(`${hostname} leads to a link-local or metadata address`), []);
    const [first] = addresses;
    if (options.all === true || !first) return callback(null, addresses);
    return callback(null, first.address, first.family);
  });
};
