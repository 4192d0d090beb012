import type { CancelSignal } from '../process/index.ts';

interface Calls {
  count: number;
  /** Of these, calls that wait for a connection: what begins each. Undefined until one has waited. */
  waiting: Set<() => void> | undefined;
}

const waitingOf = ({ waiting }: Calls): number => waiting?.size ?? 0;

/** The part of the places, and of the connections, of a backend that one user may take while others need them. */
const SHARE = 0.75;

/** The calls of each user at one backend, so that none takes all its room. */
export class UserCalls {
  readonly #users = new Map<string, Calls>();
  readonly #connections: number;

  /** `connections`: how many requests of calls the backend is sent at a time. */
  constructor(connections: number) {
    this.#connections = connections;
  }

  /**
   * Whether one more call would take one of the last quarter of the places although its user holds half of all: those
   * are for other users. `count`: calls of all users under way.
   */
  leavesNoRoom(user: string, { count, places }: { readonly count: number; readonly places: number }): boolean {
    return count >= places * SHARE && (this.#users.get(user)?.count ?? 0) >= places / 2;
  }

  begin(user: string): void {
    const calls = this.#users.get(user);
    if (calls) calls.count += 1;
    else this.#users.set(user, { count: 1, waiting: undefined });
  }

  /**
   * Resolves once a call that was begun may be sent: undefined, at once, unless the calls of its user fill three
   * quarters of the connections. Rejects with the reason of `signal` when that is aborted first.
   */
  turn(user: string, signal: CancelSignal): Promise<void> | undefined {
    const calls = this.#users.get(user);
    // The call itself is counted.
    if (!calls || signal.aborted || calls.count - waitingOf(calls) <= this.#connections * SHARE) return undefined;
    const waiting = (calls.waiting ??= new Set());
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.delete(begin);
        reject(signal.reason);
      };
      const begin = (): void => {
        waiting.delete(begin);
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      waiting.add(begin);
      signal.addEventListener('abort', giveUp);
    });
  }

  end(user: string): void {
    const calls = this.#users.get(user);
    if (!calls) return;
    calls.count -= 1;
    if (calls.count === 0) this.#users.delete(user);
    if (!calls.waiting) return;
    for (const begin of calls.waiting) {
      if (calls.count - waitingOf(calls) >= this.#connections * SHARE) return;
      begin();
    }
  }
}
