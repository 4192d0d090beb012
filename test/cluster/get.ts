import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';

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

interface Place {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
}

/** `GET`, with all rights; the body, whatever the status. */
type Ask = (path: string, accept?: string) => Promise<{ readonly status: number; readonly text: string }>;

export const readersOf = (place: Place): { readonly get: Get; readonly list: List } => {
  const ask = asker(place);
  let known: ReadonlyMap<string, Resource> = new Map();
  const resourceOf = async (kind: string): Promise<Resource> => {
    const word = kind.toLowerCase();
    // Kinds come while tests run.
    if (!known.has(word)) known = await discovered(ask);
    const found = known.get(word);
    if (found === undefined) throw new Error(`the server doesn't have a resource type "${kind}"`);
    return found;
  };
  const read = async (path: string): Promise<unknown> => {
    const { status, text } = await ask(path);
    if (status !== 200) throw new Error(messageIn(text));
    return JSON.parse(text);
  };
  return {
    get: async (kind, name, namespace = 'default') =>
      withoutManagedFields((await read(`${pathOf(await resourceOf(kind), namespace)}/${name}`)) as Stored),
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

const pathOf = ({ root, plural, isNamespaced }: Resource, namespace: string): string =>
  [root, ...(isNamespaced ? ['namespaces', namespace] : []), plural].join('/');

const asker = ({ url, caFile, adminToken }: Place): Ask => {
  let dispatcher: Promise<Agent> | undefined;
  // The API server makes it when it starts.
  const open = async (): Promise<Agent> => new Agent({ connect: { ca: await readFile(caFile) } });
  return async (path, accept = 'application/json') => {
    const headers = { authorization: `Bearer ${adminToken}`, accept };
    const { statusCode, body } = await request(new URL(path, url), {
      dispatcher: await (dispatcher ??= open()),
      headers,
    });
    return { status: statusCode, text: await body.text() };
  };
};

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  /** `/apis/apps/v1` */
  readonly root: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind: { readonly kind: string };
        readonly scope: string;
        readonly singularResource: string;
        readonly shortNames?: readonly string[];
      }[];
    }[];
  }[];
}

/** By plural, singular and short names; what comes first, in the order of the API server, has the name. */
const discovered = async (ask: Ask): Promise<ReadonlyMap<string, Resource>> => {
  const found = new Map<string, Resource>();
  for (const path of ['/api', '/apis']) {
    const { text } = await ask(path, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    for (const { metadata, versions } of (JSON.parse(text) as Discovery).items)
      for (const { version, resources = [] } of versions)
        for (const { resource: plural, responseKind, scope, singularResource, shortNames = [] } of resources) {
          const apiVersion = [metadata.name, version].filter(Boolean).join('/');
          const isNamespaced = scope === 'Namespaced';
          const { kind } = responseKind;
          const resource = { apiVersion, kind, root: `${path}/${apiVersion}`, plural, isNamespaced };
          for (const word of [plural, singularResource, ...shortNames]) if (!found.has(word)) found.set(word, resource);
        }
  }
  return found;
};

/** Of a `Status`; else the text itself. */
const messageIn = (text: string): string => {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text;
  } catch {
    return text;
  }
};
