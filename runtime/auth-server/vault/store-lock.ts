import type { Clock, Timer } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';

export interface StoreLockDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
}

/** A lock that this process holds. */
export interface HeldLock {
  /** Never throws: where the store is away, the lock ends by itself. */
  readonly release: () => Promise<void>;
}

/** How long a lock outlasts a process that was killed, and when a process that is alive renews it. */
const LIFE_MS = 15_000;
const RENEW_MS = 5_000;

const OWNER = 'owner';
const OWNER_BYTES = 16;

/**
 * Takes a lock that all replicas respect; undefined: another one holds it. It is renewed until it is released, so that
 * it lasts for as long as its holder lives. Throws as the store does.
 */
export const acquireLock = async (name: string, deps: StoreLockDeps): Promise<HeldLock | undefined> => {
  const { store, clock, entropy } = deps;
  const owner = entropy(OWNER_BYTES);
  const release = async (): Promise<void> => void (await store.deleteField(name, OWNER, owner).catch(() => false));
  const isHeld = await store.createMap(name, new Map([[OWNER, owner]]), LIFE_MS).catch(async (error: unknown) => {
    // It may have been taken.
    await release();
    throw error;
  });
  if (!isHeld) return undefined;
  let timer: Timer | undefined;
  const renewLater = (): void => {
    timer = clock.after(RENEW_MS, () => {
      store.touch(name, LIFE_MS).catch(() => false);
      renewLater();
    });
  };
  renewLater();
  return {
    release: async () => {
      timer?.cancel();
      await release();
    },
  };
};
