import { type Caller, clientKey, type User, type RequestHead } from '../call/index.ts';
import type { Clock } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import type { Gate } from './gate.ts';

export interface CurrentCallersDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Users that are remembered; those that were seen longest ago are dropped first. */
  readonly limit: number;
}

interface Latest {
  user: User;
  /** Since it was last the first in line. */
  isSeenAgain: boolean;
}

/**
 * The newest token that each user has presented, by the client that presented it. Streams, subscriptions and answers to
 * questions may be sent long after the request that began them, whose token may have expired by then.
 */
export class CurrentCallers {
  readonly #deps: CurrentCallersDeps;
  /**
   * In line to be dropped: who was seen again since goes back to the end of the line, which costs a request less than
   * to go there at once.
   */
  readonly #latest = new Map<string, Latest>();

  constructor(deps: CurrentCallersDeps) {
    this.#deps = deps;
  }

  /**
   * Notes a caller that was just authenticated. The newest one counts, however long its token lasts: an earlier token
   * may have been revoked, or have rights that the user has given up.
   */
  note(caller: Caller): void {
    if (caller.kind !== 'user') return;
    const key = clientKey(caller);
    const known = this.#latest.get(key);
    if (!known) return this.#add(key, caller);
    known.user = caller;
    known.isSeenAgain = true;
  }

  #add(key: string, user: User): void {
    this.#latest.set(key, { user, isSeenAgain: false });
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [key, known] of this.#latest) {
      const hasEnded = this.#hasEnded(known.user);
      if (this.#latest.size <= this.#deps.limit && !hasEnded) return;
      this.#latest.delete(key);
      if (!known.isSeenAgain || hasEnded) continue;
      known.isSeenAgain = false;
      this.#latest.set(key, known);
    }
  }

  /**
   * The caller; where the token has expired or was refused meanwhile, or its expiry is not known, the same user with
   * the newest token that the same client has presented. Throws `credential_unavailable` where that one has ended, too:
   * nothing is sent on behalf of an invalid token.
   */
  readonly current = (caller: Caller): Caller => {
    if (caller.kind !== 'user') return caller;
    const isSure = caller.expiresAt !== undefined && !this.#hasEnded(caller);
    const current = isSure ? caller : (this.#latest.get(clientKey(caller))?.user ?? caller);
    if (this.#hasEnded(current)) throw new VmcpError('credential_unavailable', 'the token of the user has ended');
    return current;
  };

  /** As `current`; undefined where no token of the user and client is valid. */
  valid(caller: Caller): Caller | undefined {
    try {
      return this.current(caller);
    } catch {
      return undefined;
    }
  }

  /** The same user and client with the token presented last, where that is valid; else as `valid`. */
  newest(caller: Caller): Caller | undefined {
    const latest = caller.kind === 'user' ? this.#latest.get(clientKey(caller))?.user : undefined;
    return latest && !this.#hasEnded(latest) ? latest : this.valid(caller);
  }

  /**
   * Goes on with what another check of a noted caller has found, unless the client has presented a newer token since.
   */
  replace(noted: Caller, found: Caller): void {
    if (noted.kind !== 'user' || found.kind !== 'user') return;
    const key = clientKey(noted);
    const known = this.#latest.get(key);
    if (known?.user !== noted) return;
    const newKey = clientKey(found);
    if (newKey === key) return void (known.user = found);
    this.#latest.delete(key);
    if (!this.#latest.has(newKey)) this.#latest.set(newKey, { user: found, isSeenAgain: false });
  }

  /** Forgets every user of whom this does not hold. */
  retain(isKnown: (user: User) => boolean): void {
    for (const [key, { user }] of this.#latest) if (!isKnown(user)) this.#latest.delete(key);
  }

  #hasEnded({ expiresAt, isWithdrawn }: User): boolean {
    return (expiresAt !== undefined && expiresAt <= this.#deps.now()) || isWithdrawn?.() === true;
  }
}

/** Time for `authenticate`, which may have to ask the identity provider. */
const AUTHENTICATE_MS = 10_000;

/**
 * Wraps `authenticate`: bounds its time and notes every authenticated caller, unless another authentication has come
 * into force meanwhile.
 */
export const rememberCallers =
  (users: CurrentCallers, gate: Pick<Gate, 'authenticate' | 'hasVerified'>, clock: Clock): Gate['authenticate'] =>
  (head: RequestHead) => {
    const noted = (caller: Caller): Caller => {
      if (gate.hasVerified?.(caller) !== false) users.note(caller);
      return caller;
    };
    const known = gate.authenticate(head);
    return known instanceof Promise ? inTime(clock, known).then(noted) : noted(known);
  };

/** The caller, or `overloaded` after a while. */
export const inTime = (clock: Clock, known: Promise<Caller>): Promise<Caller> =>
  new Promise((resolve, reject) => {
    const timer = clock.after(AUTHENTICATE_MS, () =>
      reject(new VmcpError('overloaded', 'it could not be found out in time who sends this; try again')),
    );
    void known.then(resolve, reject).finally(() => timer.cancel());
  });
