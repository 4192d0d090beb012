import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIP } from 'node:net';

const neverFetched = new BlockList();
// RFC 3927, RFC 4291 §2.5.6: link-local. The clouds' metadata services live there.
neverFetched.addSubnet('169.254.0.0', 16, 'ipv4');
neverFetched.addSubnet('fe80::', 10, 'ipv6');
// Metadata services with other addresses: AWS over IPv6, Alibaba, Azure's wire server, Oracle.
neverFetched.addAddress('fd00:ec2::254', 'ipv6');
neverFetched.addAddress('100.100.100.200', 'ipv4');
neverFetched.addAddress('168.63.129.16', 'ipv4');
neverFetched.addAddress('192.0.0.192', 'ipv4');
// RFC 6052: the same addresses behind the well-known NAT64 prefix; RFC 4291 §2.5.5.1: IPv4-compatible form.
neverFetched.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6');
neverFetched.addSubnet('::a9fe:0', 112, 'ipv6');

/** Link-local and metadata addresses, in IPv4, IPv6 and mapped form. `address` is an IP literal without brackets. */
export const isForbiddenAddress = (address: string): boolean => {
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) makes no difference.
  const plain = address.split('%')[0] ?? address;
  return family !== 0 && neverFetched.check(plain, family === 6 ? 'ipv6' : 'ipv4');
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
