import { callerKey, type Caller, type OpenFor } from '../../call/index.ts';
import type { Clock, Timer } from '../../process/index.ts';
import type { VmcpError } from '../../errors.ts';
import { askableCapabilities } from './handshake.ts';
import { ClientBackendSessions } from './client-sessions.ts';

export interface UserBackendSessionsDeps {
  readonly clock: Clock;
  /** How long a user's sessions are kept after the last call. */
  readonly idleMs: () => number;
  /** Users whose sessions are kept at once. */
  readonly users: number;
}

/** The call that needs backend sessions. */
export interface Acquirer {
  readonly caller: Caller;
  /** JSON text of the client's declared capabilities, which backends may use. */
  readonly capabilities: Buffer;
  /** Cancels the call, when the runtime stops. */
  readonly cancel: (reason: VmcpError) => void;
}

/** Backend sessions for the time of one call. */
export interface AcquiredSessions {
  readonly backendSessions: ClientBackendSessions;
  /** To be called once. */
  readonly release: () => void;
}

/** The sessions lent to one call that is under way. */
interface Loan {
  readonly caller: Caller;
  readonly cancel: Acquirer['cancel'];
  /** Index in the array of loans. */
  place: number;
}

/** Sets of capabilities of one user's clients; each set has sessions of its own. */
const CLIENTS_OF_USER = 4;

interface KeptSessions {
  readonly user: string;
  readonly backendSessions: ClientBackendSessions;
  /** By the token presented last. */
  caller: Caller;
  /** Calls under way. */
  users: number;
  /** By another call, since it was last the first in line. */
  isUsed: boolean;
  /** Counts from the end of the last call; that it runs out during a call means nothing. */
  idle: IdleTime | undefined;
}

interface IdleTime {
  readonly ms: number;
  readonly timer: Timer;
}

/**
 * The backend sessions of callers that have no session here (2026-07-28). A user's sessions are kept from call to call
 * and used for no other user. Two anonymous requests cannot be known to come from the same client, so nothing is kept
 * between them (docs/decisions.md "Sessions").
 */
export class UserBackendSessions {
  readonly #deps: UserBackendSessionsDeps;
  /**
   * In line to be ended: those that were used since go back to the end of the line, which costs a call less than to go
   * there at once.
   */
  readonly #users = new Map<string, KeptSessions>();
  readonly #clientsOf = new Map<string, number>();
  /**
   * An array, since calls come and go all the time. A Set that grows old in memory would keep many of them there until
   * the next full collection: a table that it has given up still holds its entries and leads to the table after it.
   */
  readonly #underWay: Loan[] = [];

  constructor(deps: UserBackendSessionsDeps) {
    this.#deps = deps;
  }

  /** Users whose sessions are kept, each of their clients' capabilities counted. */
  get size(): number {
    return this.#users.size;
  }

  acquire(acquirer: Acquirer): AcquiredSessions {
    const { caller, cancel } = acquirer;
    const loan: Loan = { caller, cancel, place: this.#underWay.length };
    this.#underWay.push(loan);
    const { backendSessions, release } = caller.kind === 'user' ? this.#ofUser(acquirer) : sessionsForOneCall(acquirer);
    return {
      backendSessions,
      release: () => {
        this.#removeLoan(loan);
        release();
      },
    };
  }

  /** Removes a loan; the last loan takes its place in the array. */
  #removeLoan(loan: Loan): void {
    if (this.#underWay[loan.place] !== loan) return;
    const last = this.#underWay.pop();
    if (!last || last === loan) return;
    this.#underWay[loan.place] = last;
    last.place = loan.place;
  }

  cancelAllCalls(reason: VmcpError): void {
    this.cancelCalls(() => true, reason);
  }

  /** Cancels the calls of these callers; returns how many there were. */
  cancelCalls(isMeant: (caller: Caller) => boolean, reason: VmcpError): number {
    const loans = this.#underWay.filter(({ caller }) => isMeant(caller));
    for (const { cancel } of loans) cancel(reason);
    return loans.length;
  }

  /** The sessions that are kept, for a check of their users. */
  openFor(): readonly OpenFor[] {
    return [...this.#users].map(([key, kept]) => {
      const { caller } = kept;
      return {
        caller,
        keep: (verified) => {
          if (kept.caller === caller) kept.caller = verified;
        },
        end: () => {
          const isUnknown = kept.caller === caller && this.#users.get(key) === kept;
          if (isUnknown) this.#end(key, kept);
          return isUnknown;
        },
      };
    });
  }

  async close(): Promise<void> {
    const all = [...this.#users.values()];
    this.#users.clear();
    this.#clientsOf.clear();
    for (const { idle } of all) idle?.timer.cancel();
    await Promise.all(all.map(({ backendSessions }) => backendSessions.close()));
  }

  #ofUser(acquirer: Acquirer): AcquiredSessions {
    const { caller } = acquirer;
    const key = keyOf(acquirer);
    const known = this.#users.get(key);
    if (known) known.isUsed = true;
    const kept = known ?? this.#keep(key, newKeptSessions(callerKey(caller), acquirer));
    if (!kept) return sessionsForOneCall(acquirer);
    kept.caller = caller;
    kept.users += 1;
    return { backendSessions: kept.backendSessions, release: () => this.#giveBack(key, kept) };
  }

  /** Undefined when there is no room for the sessions. */
  #keep(key: string, kept: KeptSessions): KeptSessions | undefined {
    if (this.#clients(kept.user) >= CLIENTS_OF_USER || !this.#makeRoom()) return undefined;
    // Counted again: the sessions that were ended to make room may be the same user's.
    this.#clientsOf.set(kept.user, this.#clients(kept.user) + 1);
    this.#users.set(key, kept);
    return kept;
  }

  #clients(user: string): number {
    return this.#clientsOf.get(user) ?? 0;
  }

  #giveBack(key: string, kept: KeptSessions): void {
    kept.users -= 1;
    if (kept.users > 0 || this.#users.get(key) !== kept) return;
    const ms = this.#deps.idleMs();
    if (kept.idle?.ms === ms) return kept.idle.timer.restart();
    kept.idle?.timer.cancel();
    const timer = this.#deps.clock.after(ms, () => {
      kept.idle = undefined;
      if (kept.users === 0) this.#end(key, kept);
    });
    kept.idle = { ms, timer };
  }

  /** Ends sessions that are not in use, and were not used lately. False when all are in use. */
  #makeRoom(): boolean {
    if (this.#users.size < this.#deps.users) return true;
    for (const [key, kept] of this.#users) {
      if (kept.users > 0) continue;
      if (!kept.isUsed) {
        this.#end(key, kept);
        return true;
      }
      kept.isUsed = false;
      this.#users.delete(key);
      this.#users.set(key, kept);
    }
    return false;
  }

  #end(key: string, kept: KeptSessions): void {
    kept.idle?.timer.cancel();
    this.#users.delete(key);
    const others = (this.#clientsOf.get(kept.user) ?? 1) - 1;
    if (others === 0) this.#clientsOf.delete(kept.user);
    else this.#clientsOf.set(kept.user, others);
    void kept.backendSessions.close();
  }
}

/** The key of a caller's last call: clients declare the same capabilities with each call. */
const lastKeys = new WeakMap<Caller, { readonly capabilities: Buffer; readonly key: string }>();

const keyOf = ({ caller, capabilities }: Acquirer): string => {
  const before = lastKeys.get(caller);
  if (before?.capabilities.equals(capabilities)) return before.key;
  const key = `${callerKey(caller)} ${askableCapabilities(capabilities)}`;
  lastKeys.set(caller, { capabilities: Buffer.from(capabilities), key });
  return key;
};

const newKeptSessions = (user: string, { caller, capabilities }: Acquirer): KeptSessions => {
  const kept: KeptSessions = {
    user,
    // A copy, since a part of the request would keep the whole request in memory.
    backendSessions: new ClientBackendSessions({
      owner: () => kept.caller,
      capabilities: Buffer.from(askableCapabilities(capabilities)),
    }),
    caller,
    users: 0,
    isUsed: false,
    idle: undefined,
  };
  return kept;
};

/** Sessions for one call, closed with it. */
const sessionsForOneCall = ({ caller, capabilities }: Acquirer): AcquiredSessions => {
  const backendSessions = new ClientBackendSessions({ owner: () => caller, capabilities });
  return { backendSessions, release: () => void backendSessions.close() };
};
