import { networkOf } from '../http/index.ts';
import type { ByteBudget } from '../process/index.ts';

/** The requests under way of the clients at one address, and its part of the byte budgets. */
export interface ClientShare {
  /** Requests under way. */
  active: number;
  readonly bodies: ByteBudget;
  readonly answers: ByteBudget;
}

/** Byte budgets of all clients together. */
export interface SharedBudgets {
  readonly bodies: ByteBudget;
  readonly answers: ByteBudget;
}

/** Addresses that are remembered although they have no request under way. */
const IDLE_ADDRESSES = 8_192;

/** What each address holds, so that the clients at one address cannot take everything from the others. */
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
    const share = { active: 0, bodies: bodies.part(limitPerAddress), answers: answers.part(limitPerAddress) };
    this.#shares.set(network, share);
    return share;
  }

  #forgetIdle(): void {
    for (const [network, { active, bodies, answers }] of this.#shares)
      if (active === 0 && bodies.taken === 0 && answers.taken === 0) this.#shares.delete(network);
  }
}

/**
 * The part of a common limit that one address may take: half, since many clients may be behind one proxy that is not
 * trusted to name them.
 */
export const limitPerAddress = (together: number): number => Math.ceil(together / 2);
