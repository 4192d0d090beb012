import { generateKeyPairSync } from 'node:crypto';
import { type Clock, jittered, type Timer } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import type { Sealer } from './sealer.ts';
import { MIN_SECRET_BYTES } from './secrets.ts';

/** Keys that were made because the configuration names none. They end with the last replica that uses them. */
export interface MadeKeys {
  readonly current: () => Promise<KeyMaterial>;
  readonly close: () => void;
}

export interface KeyMaterial {
  /** PEM. */
  readonly signingKey: string;
  readonly secret: Buffer;
}

export interface MadeKeysDeps {
  readonly entropy: (bytes: number) => Buffer;
}

const newKeys = ({ entropy }: MadeKeysDeps): KeyMaterial => ({
  signingKey: String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  ),
  secret: entropy(MIN_SECRET_BYTES),
});

/** Keys of this process alone. */
export const ownKeys = (deps: MadeKeysDeps): MadeKeys => {
  const keys = newKeys(deps);
  return { current: async () => keys, close: () => {} };
};

export interface SharedKeysDeps extends MadeKeysDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  /** Absent: the keys are in the store as they are, since the replicas share no secret. */
  readonly sealer: Sealer | undefined;
}

const KEY = 'made-keys';

/** Longer than a replica takes to restart beside others, and no longer than all of them may be gone. */
export const LEASE_MS = 60_000;
const RENEWAL_MS = LEASE_MS / 3;

/**
 * Keys that all replicas share through the store: the first one makes them, and they stay as long as one replica
 * renews them. While the store is away, those that are known go on; throws `store_unavailable` where none are.
 */
export const sharedKeys = (deps: SharedKeysDeps): MadeKeys => {
  const { store, clock, random } = deps;
  const own = newKeys(deps);
  let known: KeyMaterial | undefined;
  let renewal: Timer | undefined;
  let isClosed = false;
  let reading: Promise<KeyMaterial> | undefined;
  const read = async (): Promise<KeyMaterial> => {
    for (;;) {
      const kept = await store.get(KEY);
      const found = kept && (await opened(deps.sealer, kept));
      if (found) {
        await store.touch(KEY, LEASE_MS);
        return found;
      }
      // What does not open was sealed with a secret that is gone, and serves nobody.
      if (kept) await store.delete(KEY);
      const value = await sealed(deps.sealer, known ?? own);
      if (await store.setIfAbsent(KEY, value, LEASE_MS)) return known ?? own;
    }
  };
  const renew = (): Promise<KeyMaterial> => {
    reading ??= read()
      .then((keys) => (known = keys))
      .finally(() => {
        reading = undefined;
        renewal?.cancel();
        if (!isClosed) renewal = clock.after(jittered(RENEWAL_MS, random, 0.2), () => void renew().catch(() => {}));
      });
    return reading;
  };
  return {
    current: async () => known ?? renew(),
    close: () => {
      isClosed = true;
      renewal?.cancel();
    },
  };
};

const sealed = async (sealer: Sealer | undefined, { signingKey, secret }: KeyMaterial): Promise<Buffer> => {
  const text = Buffer.from(JSON.stringify({ signingKey, secret: secret.toString('base64url') }));
  return sealer ? sealer.seal(text, KEY) : text;
};

const opened = async (sealer: Sealer | undefined, kept: Buffer): Promise<KeyMaterial | undefined> => {
  const text = sealer ? await sealer.unseal(kept, KEY) : kept;
  return text && materialIn(text);
};

const materialIn = (text: Buffer): KeyMaterial | undefined => {
  try {
    const { signingKey, secret } = JSON.parse(text.toString()) as Record<string, unknown>;
    if (typeof signingKey !== 'string' || typeof secret !== 'string') return undefined;
    return { signingKey, secret: Buffer.from(secret, 'base64url') };
  } catch {
    return undefined;
  }
};
