/** What the clients at one address have under way. */
export interface ClientShare {
  /** Requests. */
  active: number;
}

/** Addresses that are remembered although nothing of theirs is under way. */
const IDLE_ADDRESSES = 8_192;

/** So that nobody takes everything from the others, who come from other addresses: what each address holds. */
export class ClientShares {
  readonly #shares = new Map<string, ClientShare>();

  of(address: string | undefined): ClientShare {
    const network = networkOf(address);
    const known = this.#shares.get(network);
    if (known) return known;
    if (this.#shares.size >= IDLE_ADDRESSES) this.#forgetIdle();
    const share = { active: 0 };
    this.#shares.set(network, share);
    return share;
  }

  #forgetIdle(): void {
    for (const [network, { active }] of this.#shares) if (active === 0) this.#shares.delete(network);
  }
}

/** Part of what all may hold together that one address may hold: many clients may be behind one proxy that is not trusted to name them. */
export const partOfOneAddress = (together: number): number => Math.ceil(together / 2);

/** The first 64 bits of an IPv6 address, since whoever has one has all that begin like it (RFC 4291 §2.5.1); others as they are. */
export const networkOf = (address = ''): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = groupsIn(head);
  const left = NETWORK_GROUPS - groups.length;
  if (tail === undefined || left <= 0) return groups.slice(0, NETWORK_GROUPS).join(':');
  const last = groupsIn(tail);
  const zeros = Array<string>(ALL_GROUPS - groups.length - last.length).fill('0');
  return [...groups, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(':');
};

const ALL_GROUPS = 8;
const NETWORK_GROUPS = 4;

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
