import { callerKey, type Caller } from '../call.ts';
import type { Clock, Timer } from '../clock.ts';
import type { VmcpError } from '../errors.ts';
import { mirrored } from './handshake.ts';
import { SessionLinks } from './session-links.ts';

export interface CallerLinksDeps {
  readonly clock: Clock;
  /** How long the sessions of a user who asks nothing are kept. */
  readonly idleMs: () => number;
  /** Users whose sessions are kept at once. */
  readonly users: number;
}

/** Who needs backend sessions for a call. */
export interface Borrower {
  readonly caller: Caller;
  /** JSON text of what its client has declared: backends may ask for that much. */
  readonly capabilities: Buffer;
  /** Ends the call, when the runtime stops. */
  readonly cancel: (reason: VmcpError) => void;
}

/** Backend sessions for the time of one call. */
export interface Borrowed {
  readonly links: SessionLinks;
  /** To be called once. */
  readonly giveBack: () => void;
}

/** What is lent to one call that is under way. */
interface Loan {
  readonly cancel: Borrower['cancel'];
  /** Where it stands among those under way. */
  place: number;
}

/** Clients of one user that can be asked different things, and so have different sessions. */
const CLIENTS_OF_USER = 4;

interface Kept {
  readonly user: string;
  readonly links: SessionLinks;
  /** By the token that was presented last. */
  caller: Caller;
  borrowers: number;
  idle: Timer | undefined;
}

/**
 * The backend sessions of callers that have no session here (2026-07-28). A user's are kept from call to call and are nobody else's;
 * of two anonymous requests nobody knows that they come from the same client, so nothing is kept from one for another (decisions: Sessions).
 */
export class CallerLinks {
  readonly #deps: CallerLinksDeps;
  /** Those that have been idle longest first. */
  readonly #users = new Map<string, Kept>();
  readonly #clientsOf = new Map<string, number>();
  /**
   * An array, since calls come and go all the time. A Set that grows old in memory would keep many of them there until the next full
   * collection: a table that it has given up still holds its entries and leads to the table after it.
   */
  readonly #underWay: Loan[] = [];

  constructor(deps: CallerLinksDeps) {
    this.#deps = deps;
  }

  borrow(borrower: Borrower): Borrowed {
    const { caller, cancel } = borrower;
    const loan: Loan = { cancel, place: this.#underWay.length };
    this.#underWay.push(loan);
    const { links, giveBack } = caller.kind === 'user' ? this.#ofUser(borrower) : keptForOne(borrower);
    return {
      links,
      giveBack: () => {
        this.#isOver(loan);
        giveBack();
      },
    };
  }

  /** The last one takes its place. */
  #isOver(loan: Loan): void {
    if (this.#underWay[loan.place] !== loan) return;
    const last = this.#underWay.pop();
    if (!last || last === loan) return;
    this.#underWay[loan.place] = last;
    last.place = loan.place;
  }

  cancelAllCalls(reason: VmcpError): void {
    const loans = [...this.#underWay];
    for (const { cancel } of loans) cancel(reason);
  }

  async close(): Promise<void> {
    const all = [...this.#users.values()];
    this.#users.clear();
    this.#clientsOf.clear();
    for (const { idle } of all) idle?.cancel();
    await Promise.all(all.map(({ links }) => links.close()));
  }

  #ofUser(borrower: Borrower): Borrowed {
    const { caller } = borrower;
    const user = callerKey(caller);
    const key = `${user} ${mirrored(borrower.capabilities)}`;
    const kept = this.#users.get(key) ?? this.#keep(key, newlyKept(user, borrower));
    if (!kept) return keptForOne(borrower);
    this.#users.delete(key);
    this.#users.set(key, kept);
    kept.caller = caller;
    kept.idle?.cancel();
    kept.borrowers += 1;
    return { links: kept.links, giveBack: () => this.#takeBack(key, kept) };
  }

  /** Undefined when there is no room for it. */
  #keep(key: string, kept: Kept): Kept | undefined {
    if (this.#clients(kept.user) >= CLIENTS_OF_USER || !this.#makeRoom()) return undefined;
    // Counted anew: what has made room may have been the same user's.
    this.#clientsOf.set(kept.user, this.#clients(kept.user) + 1);
    this.#users.set(key, kept);
    return kept;
  }

  #clients(user: string): number {
    return this.#clientsOf.get(user) ?? 0;
  }

  #takeBack(key: string, kept: Kept): void {
    kept.borrowers -= 1;
    if (kept.borrowers > 0 || this.#users.get(key) !== kept) return;
    kept.idle = this.#deps.clock.after(this.#deps.idleMs(), () => this.#end(key, kept));
  }

  /** The one that was asked for longest ago goes. False when all are in use. */
  #makeRoom(): boolean {
    if (this.#users.size < this.#deps.users) return true;
    for (const [key, kept] of this.#users) {
      if (kept.borrowers > 0) continue;
      this.#end(key, kept);
      return true;
    }
    return false;
  }

  #end(key: string, kept: Kept): void {
    kept.idle?.cancel();
    this.#users.delete(key);
    const others = (this.#clientsOf.get(kept.user) ?? 1) - 1;
    if (others === 0) this.#clientsOf.delete(kept.user);
    else this.#clientsOf.set(kept.user, others);
    void kept.links.close();
  }
}

const newlyKept = (user: string, { caller, capabilities }: Borrower): Kept => {
  const kept: Kept = {
    user,
    // Not as they lie in the request, which would stay with them.
    links: new SessionLinks({ speaksFor: () => kept.caller, capabilities: Buffer.from(mirrored(capabilities)) }),
    caller,
    borrowers: 0,
    idle: undefined,
  };
  return kept;
};

/** For one call, and gone with it. */
const keptForOne = ({ caller, capabilities }: Borrower): Borrowed => {
  const links = new SessionLinks({ speaksFor: () => caller, capabilities });
  return { links, giveBack: () => void links.close() };
};
