import { writtenGroupsOf } from '../addresses.ts';
import type { ByteBudget } from '../byte-budget.ts';

/** What the clients at one address have under way, and its part of what all hold. */
export interface ClientShare {
  /** Requests. */
  active: number;
  readonly bodies: ByteBudget;
  readonly answers: ByteBudget;
}

/** What all hold together. */
export interface SharedBudgets {
  readonly bodies: ByteBudget;
  readonly answers: ByteBudget;
}

/** Addresses that are remembered although nothing of theirs is under way. */
const IDLE_ADDRESSES = 8_192;

/** So that nobody takes everything from the others, who come from other addresses: what each address holds. */
export class ClientShares {
  readonly #together: SharedBudgets;
  readonly #shares = new Map<string, ClientShare>();

  constructor(together: SharedBudgets) {
    this.#together = together;
  }

  of(address: string | undefined): ClientShare {
    const network = networkOf(address);
    const known = this.#shares.get(network);
    if (known) return known;
    if (this.#shares.size >= IDLE_ADDRESSES) this.#forgetIdle();
    const { bodies, answers } = this.#together;
    const share = { active: 0, bodies: bodies.part(partOfOneAddress), answers: answers.part(partOfOneAddress) };
    this.#shares.set(network, share);
    return share;
  }

  #forgetIdle(): void {
    for (const [network, { active, bodies, answers }] of this.#shares)
      if (active === 0 && bodies.taken === 0 && answers.taken === 0) this.#shares.delete(network);
  }
}

/** Part of what all may hold together that one address may hold: many clients may be behind one proxy that is not trusted to name them. */
export const partOfOneAddress = (together: number): number => Math.ceil(together / 2);

/** The first 64 bits of an IPv6 address, since whoever has one has all that begin like it (RFC 4291 §2.5.1); others as they are. */
export const networkOf = (address = ''): string =>
  address.includes(':') && !address.includes('.')
    ? writtenGroupsOf(address).slice(0, NETWORK_GROUPS).join(':')
    : address;

const NETWORK_GROUPS = 4;
