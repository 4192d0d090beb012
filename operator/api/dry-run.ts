import { apiClient } from './client.ts';
import type { ApiClient } from './client.ts';
import type { ResourceTable } from './resources.ts';
import type { Transport } from './transport.ts';
import { keyOf, keyText } from '../object.ts';
import type { KubeObject } from '../object.ts';

/**
 * A client under which the cluster stays as it is. Applies and patches are asked of the API server as dry runs, so that
 * it answers what would come of them, defaults and refusals included; every other write is answered here as if it had
 * been made.
 */
export const dryRunClient = (transport: Transport, table: ResourceTable): ApiClient => {
  const client = apiClient(transport, table, { isDryRun: true });
  // The operator makes Secrets for itself and reads them again. Nothing else that it creates is ever read.
  const secrets = new Map<string, KubeObject>();
  const create: ApiClient['create'] = (object) => {
    if (object.kind === 'Secret') secrets.set(keyText(keyOf(object)), object);
    return Promise.resolve(object);
  };
  return {
    ...client,
    get: async (key, signal) => (await client.get(key, signal)) ?? secrets.get(keyText(key)),
    create,
    createOwned: create,
    replace: (object) => Promise.resolve(object),
    remove: () => Promise.resolve(),
  };
};
