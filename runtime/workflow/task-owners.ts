import { VmcpError } from '../errors.ts';
import { atMost, type Clock, seal, type Timer, unseal } from '../process/index.ts';
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
  /** Called each time the store has heard that this process is alive. */
  readonly onBeat: () => void;
  /** The store has not heard that this process is alive for so long that others will soon take it for dead. */
  readonly onCutOff: () => void;
}

/** How often a process says that it is alive, and how long each time holds. */
const BEAT_MS = 15_000;
const ALIVE_MS = 60_000;
/** When a process that is not heard ends its tasks: before others may say that they have ended. */
const CUT_OFF_MS = ALIVE_MS - BEAT_MS;
/** How long the begin of a task waits until messages to this process arrive. */
const LISTENING_MS = 2_000;

const PURPOSE = Buffer.from('cancel a task');

export const taskOwners = (deps: TaskOwnersDeps): TaskOwners => {
  const { store: whole, clock, entropy, onCancel, onBeat, onCutOff } = deps;
  const store = prefixed(whole, 'workflows:');
  const key = sharedKey(store, entropy);
  const own = entropy(ID_BYTES).toString('base64url');
  let entered = 0;
  let saidAt = 0;
  let timer: Timer | undefined;
  let subscription: Subscription | undefined;
  const say = async (): Promise<void> => {
    const at = clock.now();
    await store.set(placeOf(own), Buffer.alloc(0), ALIVE_MS);
    saidAt = Math.max(saidAt, at);
  };
  const beat = (): void => {
    timer = clock.after(BEAT_MS, beat);
    if (clock.now() - saidAt >= CUT_OFF_MS) onCutOff();
    // The next beat repeats what fails.
    void say().then(onBeat, () => {});
  };
  const leave = (): void => {
    entered -= 1;
    if (entered > 0) return;
    timer?.cancel();
    timer = undefined;
    subscription?.end();
    subscription = undefined;
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
        timer ??= clock.after(BEAT_MS, beat);
        subscription ??= listen();
        if (!(await atMost(clock, LISTENING_MS, subscription.isLive))) throw unheard();
      } catch (error) {
        leave();
        throw error;
      }
    },
    leave,
    isAlive: async (owner) => owner === own || (await store.get(placeOf(owner))) !== undefined,
    cancelAt: async (owner, secret) =>
      store.publish(placeOf(owner), seal(Buffer.from(secret), { key: await key(), as: PURPOSE }, entropy)),
  };
};

const placeOf = (owner: string): string => `owner:${owner}`;

const unheard = (): VmcpError =>
  new VmcpError('store_unavailable', 'what is kept cannot be reached at the moment; try again', {
    detail: `no subscription within ${LISTENING_MS} ms`,
  });
