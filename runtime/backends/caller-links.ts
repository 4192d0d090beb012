import { callerKey, type Caller } from '../call.ts';
import type { Clock, Timer } from '../clock.ts';
import type { VmcpError } from '../errors.ts';
import { SessionLinks } from './session-links.ts';

export interface CallerLinksDeps {
  readonly clock: Clock;
  /** How long the sessions of a user who asks nothing are kept. */
  readonly idleMs: () => number;
  /** Users whose sessions are kept at once. */
  readonly users: number;
}

/** Backend sessions for the time of one call. */
export interface Borrowed {
  readonly links: SessionLinks;
  readonly giveBack: () => void;
}

interface Kept {
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
  readonly #underWay = new Set<(reason: VmcpError) => void>();

  constructor(deps: CallerLinksDeps) {
    this.#deps = deps;
  }

  /** `cancel` ends the call that borrows, when the runtime stops. */
  borrow(caller: Caller, cancel: (reason: VmcpError) => void): Borrowed {
    this.#underWay.add(cancel);
    const { links, giveBack } = caller.kind === 'user' ? this.#ofUser(caller) : keptForOne(caller);
    return {
      links,
      giveBack: () => {
        this.#underWay.delete(cancel);
        giveBack();
      },
    };
  }

  cancelAllCalls(reason: VmcpError): void {
    for (const cancel of this.#underWay) cancel(reason);
  }

  async close(): Promise<void> {
    const all = [...this.#users.values()];
    this.#users.clear();
    for (const { idle } of all) idle?.cancel();
    await Promise.all(all.map(({ links }) => links.close()));
  }

  #ofUser(caller: Caller): Borrowed {
    const key = callerKey(caller);
    const kept = this.#users.get(key) ?? newlyKept(caller);
    if (!this.#users.has(key) && !this.#makeRoom()) return keptForOne(caller);
    this.#users.delete(key);
    this.#users.set(key, kept);
    kept.caller = caller;
    kept.idle?.cancel();
    kept.borrowers += 1;
    return { links: kept.links, giveBack: () => this.#takeBack(key, kept) };
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
    void kept.links.close();
  }
}

const newlyKept = (caller: Caller): Kept => {
  const kept: Kept = {
    links: new SessionLinks({ speaksFor: () => kept.caller }),
    caller,
    borrowers: 0,
    idle: undefined,
  };
  return kept;
};

/** For one call, and gone with it. */
const keptForOne = (caller: Caller): Borrowed => {
  const links = new SessionLinks({ speaksFor: () => caller });
  return { links, giveBack: () => void links.close() };
};
