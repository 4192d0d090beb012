import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { API_VERSION } from '../../../crds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { parseManifests } from '../../../operator/read/manifests.ts';
import { readGolden } from '../plan/golden.ts';

const MANIFESTS = join(import.meta.dirname, '../../manifests');

const all: readonly KubeObject[] = readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml') && !basename(name).startsWith('invalid'))
  .flatMap((name) => parseManifests([{ name, text: readGolden(join(MANIFESTS, name)).input }]).objects)
  .filter(({ apiVersion }) => apiVersion === API_VERSION);

const sizeOf = (object: KubeObject): number => JSON.stringify(object['spec'] ?? {}).length;

/** Of each kind the valid object of the goldens with the most in it: what lies in its fields can be reached. */
export const ordinary: readonly { readonly kind: string; readonly object: KubeObject }[] = [
  ...Map.groupBy(all, ({ kind }) => kind),
].map(([kind, objects]) => ({
  kind,
  object: objects.reduce((one, other) => (sizeOf(other) > sizeOf(one) ? other : one)),
}));
