import { type Caller, callerKey } from '../../call/index.ts';

interface ListeningUser {
  readonly caller: Caller;
  clients: number;
}

/** What is begun for each user, and how it is ended. */
interface Hearing {
  readonly begin: (caller: Caller) => () => void;
  readonly begun: Map<string, () => void>;
}

/** The users who have a client that listens for changed lists, for the backends whose lists differ by user. */
export class ListeningUsers {
  readonly #users = new Map<string, ListeningUser>();
  readonly #hearings = new Set<Hearing>();

  /**
   * Adds a client of the caller, unless the caller is no user; the returned function takes it away, and may be called
   * repeatedly.
   */
  add(caller: Caller): () => void {
    if (caller.kind !== 'user') return () => {};
    const key = callerKey(caller);
    const user = this.#users.get(key) ?? this.#begin(key, caller);
    user.clients += 1;
    let isGone = false;
    return () => {
      if (isGone) return;
      isGone = true;
      user.clients -= 1;
      if (user.clients === 0) this.#end(key);
    };
  }

  /**
   * Runs `begin` for each user, now and later, and what it has returned when the user has no such client any more. The
   * returned function ends all of it.
   */
  forEach(begin: Hearing['begin']): () => void {
    const hearing: Hearing = { begin, begun: new Map() };
    for (const [key, { caller }] of this.#users) hearing.begun.set(key, begin(caller));
    this.#hearings.add(hearing);
    return () => {
      this.#hearings.delete(hearing);
      for (const end of hearing.begun.values()) end();
      hearing.begun.clear();
    };
  }

  #begin(key: string, caller: Caller): ListeningUser {
    const user: ListeningUser = { caller, clients: 0 };
    this.#users.set(key, user);
    for (const { begin, begun } of this.#hearings) begun.set(key, begin(caller));
    return user;
  }

  #end(key: string): void {
    this.#users.delete(key);
    for (const { begun } of this.#hearings) {
      begun.get(key)?.();
      begun.delete(key);
    }
  }
}
