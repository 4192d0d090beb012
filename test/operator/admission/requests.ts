import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { kinds } from '../../../crds/index.ts';
import type { ApiAccess } from '../../cluster/index.ts';

export interface Answered {
  readonly status: number;
  readonly message: string;
  /** What `kubectl` prints as `Warning: …`. */
  readonly warnings: readonly string[];
}

export interface Requests {
  readonly create: (object: { readonly kind: string }, query?: string) => Promise<Answered>;
  readonly patch: (kind: string, name: string, patch: object, query?: string) => Promise<Answered>;
  readonly close: () => Promise<void>;
}

/** Requests in the default namespace, with all rights. */
export const requestsTo = async ({ url, caFile, adminToken }: ApiAccess): Promise<Requests> => {
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile) } });
  const send = async (method: 'POST' | 'PATCH', path: string, type: string, body: object): Promise<Answered> => {
    const response = await request(new URL(`/apis/vmcp.dev/v1beta1/namespaces/default/${path}`, url), {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': type },
      body: JSON.stringify(body),
    });
    const { message = '' } = (await response.body.json()) as { readonly message?: string };
    const warnings = [response.headers['warning'] ?? []].flat().map((text) => text.replace(/^299 - "(.*)"$/, '$1'));
    return { status: response.statusCode, message, warnings };
  };
  return {
    create: (object, query = '') => send('POST', `${pluralOf(object.kind)}?${query}`, 'application/json', object),
    patch: (kind, name, patch, query = '') =>
      send('PATCH', `${pluralOf(kind)}/${name}?${query}`, 'application/merge-patch+json', patch),
    close: () => dispatcher.close(),
  };
};

const pluralOf = (kind: string): string => Object.values(kinds).find((each) => each.kind === kind)?.plural ?? kind;
