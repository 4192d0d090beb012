import type { Store } from '../../store/index.ts';
import type { Registrations } from './registered-client.ts';
import type { RegisteredClient } from './registration.ts';

/** Seals texts, each as what it is: as another one it does not open. */
export interface Sealer {
  readonly seal: (text: Buffer, as: string) => Promise<Buffer>;
  /** Undefined: it does not open. Throws where the secret may not have reached this replica yet. */
  readonly unseal: (sealed: Buffer, as: string) => Promise<Buffer | undefined>;
}

/** Longest time that a store keeps something: each reading renews it. */
const LIFE_MS = 366 * 24 * 3_600_000;

/** Registered clients in a store, sealed. Each reading seals anew, so that they outlive the keys that sealed them. */
export const storedRegistrations = (
  store: Pick<Store, 'get' | 'set' | 'setIfAbsent' | 'delete'>,
  { seal, unseal }: Sealer,
): Registrations => {
  const sealed = (key: string, client: RegisteredClient) => seal(Buffer.from(JSON.stringify(client)), asOf(key));
  const get = async (key: string): Promise<RegisteredClient | undefined> => {
    const kept = await store.get(key);
    if (kept === undefined) return undefined;
    const text = await unseal(kept, asOf(key));
    // It stays: a replica that has the secret may use it.
    if (text === undefined) return undefined;
    const client = JSON.parse(text.toString()) as RegisteredClient;
    await store.set(key, await sealed(key, client), LIFE_MS);
    return client;
  };
  return {
    get,
    setIfAbsent: async (key, client) => {
      if (await store.setIfAbsent(key, await sealed(key, client), LIFE_MS)) return client;
      const kept = await get(key);
      // One that no secret opens is of no use to anybody once a new secret would have reached this replica.
      if (!kept) await store.set(key, await sealed(key, client), LIFE_MS);
      return kept ?? client;
    },
    remove: async (key, { id }) => {
      if ((await get(key))?.id === id) await store.delete(key);
    },
  };
};

const asOf = (key: string): string => `client registered at a provider: ${key}`;
