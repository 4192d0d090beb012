import type { GuardedClient } from '../http/index.ts';
import type { Clock, ReadSecret } from '../process/index.ts';
import { prefixed, type Store } from '../store/index.ts';
import { inUseMarks } from './clients/in-use-marks.ts';
import { metadataDocuments, type PublishedClients } from './clients/metadata-documents.ts';
import { type StoreReach, storeReach } from './grants/reuse-window.ts';
import type { Keys } from './keys/keys.ts';
import { sealerFor } from './keys/sealer.ts';
import type { RequestBudgets } from './request-budgets.ts';
import type { AuthServerSettings } from './settings.ts';
import { makeUpstream, storedRegistrations, type Upstream } from './upstreams/index.ts';

export interface LastingDeps {
  readonly issuer: string;
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
  readonly readSecret: ReadSecret;
  readonly store: Store;
  readonly keys: Pick<Keys, 'secrets'>;
  /** For addresses that the owner has written. */
  readonly owners: GuardedClient;
  /** For addresses that clients have written whom nobody knows. */
  readonly strangers: GuardedClient;
  /** The same for the addresses of clients with which users have signed in. */
  readonly clientsInUse: GuardedClient;
  readonly budgets: RequestBudgets;
}

/**
 * What goes on when other settings come into force, as far as it is good for them: documents of clients, what is known
 * of identity providers that stay as they are, and since when the store is there.
 */
export interface Lasting {
  readonly reach: StoreReach;
  readonly published: PublishedClients;
  /** The providers of these settings, in their order: those that were made before for the same, and new ones. */
  readonly upstreamsOf: (settings: Pick<AuthServerSettings, 'upstreams' | 'defaultRedirectUri'>) => readonly Upstream[];
}

export const lasting = (deps: LastingDeps): Lasting => {
  const { clock, keys, store, owners, strangers, issuer } = deps;
  const boundTo = (): string => issuer;
  const sealer = sealerFor('clients at identity providers', { ...deps, secrets: keys.secrets, boundTo });
  const registrations = storedRegistrations(prefixed(store, 'registered:'), sealer);
  let made = new Map<string, Upstream>();
  return {
    reach: storeReach(deps),
    published: metadataDocuments({
      fetch: strangers.fetch,
      fetchInUse: deps.clientsInUse.fetch,
      marks: inUseMarks({ store: prefixed(store, 'in-use:'), clock }),
      clock,
      waitMs: (address) => deps.budgets('document', address),
    }),
    upstreamsOf: ({ upstreams, defaultRedirectUri: redirectUri }) => {
      const parts = { ...deps, fetch: owners.fetch, registrations, redirectUri };
      made = new Map(
        upstreams.map((config) => {
          const key = JSON.stringify([redirectUri, config]);
          return [key, made.get(key) ?? makeUpstream(config, parts)];
        }),
      );
      return [...made.values()];
    },
  };
};
