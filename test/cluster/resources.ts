import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';

/** An API server, and all rights there. */
export interface Place {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
}

export interface Question {
  /** `GET` by default. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly accept?: string;
  readonly contentType?: string;
  /** JSON. */
  readonly body?: string;
}

/** The body of the answer, whatever its status. */
export type Ask = (path: string, question?: Question) => Promise<{ readonly status: number; readonly text: string }>;

export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  /** `/apis/apps/v1` */
  readonly root: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

/** By what kubectl knows it as: plural, singular or short name, or kind. */
export type ResourceOf = (word: string) => Promise<Resource>;

export const resourcesOf = (ask: Ask): ResourceOf => {
  let known: ReadonlyMap<string, Resource> = new Map();
  return async (word) => {
    const name = word.toLowerCase();
    // Kinds come while tests run.
    if (!known.has(name)) known = await discovered(ask);
    const found = known.get(name);
    if (found === undefined) throw new Error(`the server doesn't have a resource type "${word}"`);
    return found;
  };
};

/** Of an object; in the namespace `default` where none is given. */
export type ObjectPath = (kind: string, name: string, namespace?: string) => Promise<string>;

export const objectPaths =
  (resourceOf: ResourceOf): ObjectPath =>
  async (kind, name, namespace = 'default') => {
    // Without a name a request is about all objects of the namespace.
    if (name === '') throw new Error(`the ${kind} has no name`);
    return `${pathOf(await resourceOf(kind), namespace)}/${encodeURIComponent(name)}`;
  };

/** Of the objects of a namespace. */
export const pathOf = ({ root, plural, isNamespaced }: Resource, namespace: string): string =>
  [root, ...(isNamespaced ? ['namespaces', namespace] : []), plural].join('/');

export const asker = ({ url, caFile, adminToken }: Place): Ask => {
  let dispatcher: Promise<Agent> | undefined;
  // The API server makes it when it starts.
  const open = async (): Promise<Agent> => new Agent({ connect: { ca: await readFile(caFile) } });
  return async (path, { method = 'GET', accept = 'application/json', contentType, body = null } = {}) => {
    const headers = {
      authorization: `Bearer ${adminToken}`,
      accept,
      ...(contentType !== undefined && { 'content-type': contentType }),
    };
    const response = await request(new URL(path, url), {
      dispatcher: await (dispatcher ??= open()),
      method,
      headers,
      body,
    });
    return { status: response.statusCode, text: await response.body.text() };
  };
};

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
    const { text } = await ask(path, {
      accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    });
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

/** The body of the answer; a refusal throws in the API server's words. */
export const answerTo = async (ask: Ask, path: string, question?: Question): Promise<string> => {
  const { status, text } = await ask(path, question);
  if (status >= 300) throw new Error(messageIn(text));
  return text;
};

/** Of a `Status`; else the text itself. */
export const messageIn = (text: string): string => {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text;
  } catch {
    return text;
  }
};
