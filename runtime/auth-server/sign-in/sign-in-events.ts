import { hash } from 'node:crypto';
import type { Log } from '../../observe/index.ts';
import type { Store } from '../../store/index.ts';

/** A user's account at an identity provider. */
interface Account {
  readonly user: string;
  readonly provider: string;
}

/** Tells all replicas that a user has signed in at a provider. */
export interface SignInEvents {
  /** Never rejects: whoever waits in vain tries again. */
  readonly announce: (of: Account) => Promise<void>;
  /** Calls `run` at the next sign-in; returns the function that ends it. */
  readonly onSignedIn: (of: Account, run: () => void) => () => void;
  readonly close: () => void;
}

const CHANNEL = 'signed-in';
/** Those who wait at a time; further ones are told nothing. */
const MOST_WAITING = 10_000;

export const signInEvents = (store: Store, log: Pick<Log, 'warn'>): SignInEvents => {
  const waiting = new Map<string, Set<() => void>>();
  let count = 0;
  const subscription = store.subscribe(CHANNEL, (message) => {
    for (const run of waiting.get(message.toString()) ?? []) run();
  });
  return {
    announce: async (of) => {
      await store
        .publish(CHANNEL, Buffer.from(nameOf(of)))
        .catch((err: unknown) => log.warn({ err }, 'clients could not be told that their user has signed in'));
    },
    onSignedIn: (of, run) => {
      if (count >= MOST_WAITING) return () => {};
      const name = nameOf(of);
      const runs = waiting.get(name) ?? new Set();
      const own = (): void => run();
      waiting.set(name, runs.add(own));
      count += 1;
      return () => {
        if (!runs.delete(own)) return;
        count -= 1;
        if (runs.size === 0 && waiting.get(name) === runs) waiting.delete(name);
      };
    },
    close: () => subscription.end(),
  };
};

/** Says nothing about the user. */
const nameOf = ({ user, provider }: Account): string => hash('sha256', JSON.stringify([user, provider]), 'base64url');
