import { answerTo, type Ask, objectPaths, pathOf, type ResourceOf } from './resources.ts';

/**
 * What `kubectl get <kind> <name> --namespace <namespace> -o json` answers; throws in its words. Tests ask all the
 * time, and starting kubectl costs a hundred times what the question does.
 */
export type Get = (kind: string, name: string, namespace?: string) => Promise<unknown>;

/**
 * The items of what `kubectl get <kind>,<kind> -o json` answers, of the namespace `default` where none is given; with
 * `--selector`, and with `--show-managed-fields`.
 */
export type List = (kinds: string, options?: ListOptions) => Promise<readonly unknown[]>;

export interface ListOptions {
  readonly namespace?: string;
  readonly selector?: string;
  readonly hasManagedFields?: boolean;
}

export const readersOf = (ask: Ask, resourceOf: ResourceOf): { readonly get: Get; readonly list: List } => {
  const objectPath = objectPaths(resourceOf);
  const read = async (path: string): Promise<unknown> => JSON.parse(await answerTo(ask, path));
  return {
    get: async (...placed) => withoutManagedFields((await read(await objectPath(...placed))) as Stored),
    list: async (kinds, { namespace = 'default', selector = '', hasManagedFields = false } = {}) => {
      const found: Stored[] = [];
      for (const word of kinds.split(',')) {
        const resource = await resourceOf(word);
        const path = `${pathOf(resource, namespace)}?${new URLSearchParams({ labelSelector: selector }).toString()}`;
        const { items } = (await read(path)) as { readonly items: readonly Stored[] };
        // In a list the API server leaves them out.
        const { apiVersion, kind } = resource;
        found.push(...items.map((item) => ({ apiVersion, kind, ...item })));
      }
      return hasManagedFields ? found : found.map(withoutManagedFields);
    },
  };
};

interface Stored {
  readonly metadata: { readonly managedFields?: unknown };
}

const withoutManagedFields = (object: Stored): object => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};
