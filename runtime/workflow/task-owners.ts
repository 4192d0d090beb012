import type { Clock, Timer } from '../process/index.ts';
import { seal, unseal } from '../process/index.ts';
import { prefixed, type Store, type Subscription } from '../store/index.ts';
import { ID_BYTES, sharedKey } from './kept.ts';

/** The processes that run tasks: which are alive, and messages to them. */
export interface TaskOwners {
  /** The name of this process. */
  readonly own: string;
  /** Others see this process as alive, and reach it, until `leave` is called. Throws what the store throws. */
  readonly enter: () => Promise<void>;
  readonly leave: () => void;
  /** False: the process has ended without a word, and what it ran with it. */
  readonly isAlive: (owner: string) => Promise<boolean>;
  /** Asks the process to stop running a task, by the secret of its id. */
  readonly cancelAt: (owner: string, secret: string) => Promise<void>;
}

export interface TaskOwnersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
  readonly onCancel: (secret: string) => void;
}

/** How often a process says that it is alive, and how long each time holds. */
const BEAT_MS = 15_000;
const ALIVE_MS = 60_000;

const PURPOSE = Buffer.from('cancel a task');

export const taskOwners = ({ store: whole, clock, entropy, onCancel }: TaskOwnersDeps): TaskOwners => {
  const store = prefixed(whole, 'workflows:');
  const key = sharedKey(store, entropy);
  const own = entropy(ID_BYTES).toString('base64url');
  const say = (): Promise<void> => store.set(placeOf(own), Buffer.alloc(0), ALIVE_MS);
  let entered = 0;
  let timer: Timer | undefined;
  let subscription: Subscription | undefined;
  const beat = (): void => {
    // It is told again before long.
    void say().catch(() => {});
    timer = clock.after(BEAT_MS, beat);
  };
  const listen = (): Subscription =>
    store.subscribe(placeOf(own), (message) => {
      void key().then(
        (shared) => {
          const secret = unseal(message, { key: shared, as: PURPOSE });
          if (secret) onCancel(secret.toString());
        },
        () => {},
      );
    });
  return {
    own,
    enter: async () => {
      entered += 1;
      try {
        await say();
      } catch (error) {
        entered -= 1;
        throw error;
      }
      timer ??= clock.after(BEAT_MS, beat);
      subscription ??= listen();
      await subscription.isLive;
    },
    leave: () => {
      entered -= 1;
      if (entered > 0) return;
      timer?.cancel();
      timer = undefined;
      subscription?.end();
      subscription = undefined;
    },
    isAlive: async (owner) => owner === own || (await store.get(placeOf(owner))) !== undefined,
    cancelAt: async (owner, secret) =>
      store.publish(placeOf(owner), seal(Buffer.from(secret), { key: await key(), as: PURPOSE }, entropy)),
  };
};

const placeOf = (owner: string): string => `owner:${owner}`;
