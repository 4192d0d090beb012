import { readFile } from 'node:fs/promises';

import { Agent, request } from 'undici';

import { kinds } from '../../crds/index.ts';
import { manifestFiles } from '../../crds/generate.ts';
import type { ApiAccess, ControlPlane } from '../cluster/index.ts';
import { startControlPlane, until } from '../cluster/index.ts';

export interface Answer {
  readonly status: number;
  readonly message: string;
  readonly causes: readonly { readonly field: string; readonly message: string }[];
  readonly object: { readonly [field: string]: unknown };
}

/** A control plane that serves our kinds, and the two requests the tests make of it. */
export interface ApiServer extends ControlPlane {
  /** What creating the object would give; strict about unknown fields, as `kubectl apply` is. Nothing is stored. */
  readonly tryToCreate: (object: { readonly kind: string }) => Promise<Answer>;
  readonly writeStatus: (kind: string, name: string, status: unknown) => Promise<Answer>;
}

export async function startApiServer(): Promise<ApiServer> {
  const plane = await startControlPlane([], { ingredients: [MANIFESTS], put: putOurKinds });
  const dispatcher = new Agent({ connect: { ca: await readFile(plane.caFile) } });
  const send = async (method: 'POST' | 'PATCH', path: string, type: string, body: unknown): Promise<Answer> => {
    const response = await request(new URL(path, plane.url), {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${plane.adminToken}`, 'content-type': type },
      body: JSON.stringify(body),
    });
    return answerOf(response.statusCode, await response.body.json());
  };
  const pathOf = (kind: string): string => `/apis/vmcp.dev/v1beta1/namespaces/default/${pluralOf(kind)}`;
  try {
    await untilServed(plane);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  return {
    ...plane,
    tryToCreate: (object) =>
      send('POST', `${pathOf(object.kind)}?dryRun=All&fieldValidation=Strict`, 'application/json', object),
    writeStatus: (kind, name, status) =>
      send('PATCH', `${pathOf(kind)}/${name}/status?fieldValidation=Strict`, 'application/merge-patch+json', {
        status,
      }),
    stop: async () => {
      await dispatcher.close();
      await plane.stop();
    },
  };
}

const MANIFESTS = [...manifestFiles().values()].join('---\n');

const putOurKinds = async (access: ApiAccess): Promise<void> => {
  await access.kubectl(['create', '--filename', '-'], MANIFESTS);
  await untilServed(access);
};

const untilServed = async ({ list }: ApiAccess): Promise<void> => {
  for (const { plural } of Object.values(kinds)) {
    await until(`${plural} to be served`, () => list(plural));
  }
};

const pluralOf = (kind: string): string =>
  Object.values(kinds).find((definition) => definition.kind === kind)?.plural ?? kind.toLowerCase();

interface Body {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] };
}

const answerOf = (status: number, body: unknown): Answer => {
  const { message = '', details } = body as Body;
  const causes = (details?.causes ?? []).map(({ field = '', message: words = '' }) => ({
    field: fieldOf(field, words),
    message: words,
  }));
  const unknown = [...message.matchAll(/unknown field "([^"]+)"/g)].map(([words, field = '']) => ({
    field,
    message: words,
  }));
  return { status, message, causes: [...causes, ...unknown], object: body as Answer['object'] };
};

/**
 * The API server writes keys of maps both as `.key` and as `[key]`, and where a number does not fit its format only in
 * the words.
 */
const fieldOf = (field: string, words: string): string => {
  const [, inWords] = /with format int\d+ in (\S+)$/.exec(words) ?? [];
  return (inWords ?? field).replaceAll(/\[([^\]]*[^\]\d][^\]]*)\]/g, '.$1');
};
