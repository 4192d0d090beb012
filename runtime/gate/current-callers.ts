import { type Caller, clientKey, type RequestHead, type User } from '../call.ts';
import type { Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { Gate } from './gate.ts';

export interface CurrentCallersDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Users that are remembered; the one that was seen longest ago goes first. */
  readonly limit: number;
}

/**
 * The newest token that each user has presented, by the client that presented it. Streams, subscriptions and answers to questions are
 * sent long after the request they began with, and its token may have ended by then.
 */
export class CurrentCallers {
  readonly #deps: CurrentCallersDeps;
  /** Those seen longest ago first. */
  readonly #newest = new Map<string, User>();

  constructor(deps: CurrentCallersDeps) {
    this.#deps = deps;
  }

  /** The caller has just proved who they are. A token that ends sooner than one from before does not take its place. */
  note(caller: Caller): void {
    if (caller.kind !== 'user') return;
    const key = clientKey(caller);
    const before = this.#newest.get(key);
    const isSooner = before !== undefined && !this.#hasEnded(before) && endOf(caller) < endOf(before);
    this.#newest.delete(key);
    this.#newest.set(key, isSooner ? before : caller);
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [key, user] of this.#newest) {
      if (this.#newest.size <= this.#deps.limit && !this.#hasEnded(user)) return;
      this.#newest.delete(key);
    }
  }

  /**
   * The caller; where their token has ended, or does not tell when it does, the same user with the newest one that the same client has
   * presented. Throws `credential_unavailable` where that has ended, too: nothing is sent in the name of a token that does not count.
   */
  readonly current = (caller: Caller): Caller => {
    if (caller.kind !== 'user') return caller;
    const isSure = caller.expiresAt !== undefined && !this.#hasEnded(caller);
    const current = isSure ? caller : (this.#newest.get(clientKey(caller)) ?? caller);
    if (this.#hasEnded(current)) throw new VmcpError('credential_unavailable', 'the token of the user has ended');
    return current;
  };

  #hasEnded({ expiresAt }: User): boolean {
    return expiresAt !== undefined && expiresAt <= this.#deps.now();
  }
}

const endOf = ({ expiresAt = Infinity }: User): number => expiresAt;

/** For the identity provider that a token may have to be asked about. */
const AUTHENTICATE_MS = 10_000;

/** Remembers every caller that `authenticate` lets in, for which it has a bounded time. */
export const noting =
  (users: CurrentCallers, authenticate: Gate['authenticate'], clock: Clock): Gate['authenticate'] =>
  (head: RequestHead) => {
    const noted = (caller: Caller): Caller => {
      users.note(caller);
      return caller;
    };
    const known = authenticate(head);
    return known instanceof Promise ? inTime(clock, known).then(noted) : noted(known);
  };

const inTime = (clock: Clock, known: Promise<Caller>): Promise<Caller> =>
  new Promise((resolve, reject) => {
    const timer = clock.after(AUTHENTICATE_MS, () =>
      reject(new VmcpError('overloaded', 'it could not be found out in time who sends this; try again')),
    );
    known.then(resolve, reject).then(timer.cancel, timer.cancel);
  });
