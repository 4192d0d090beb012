import { BlockList, isIP } from 'node:net';

/**
 * Makes a test whether an address is in one of these networks (addresses and CIDR blocks), an IPv4 address also in its
 * IPv6 form. Throws for any other text.
 */
export const networksOf = (networks: readonly string[]): ((address: string) => boolean) => {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
};

/** Whether a text is an IP address or a CIDR block. */
export const isNetwork = (text: string): boolean => {
  try {
    networksOf([text]);
    return true;
  } catch {
    return false;
  }
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
