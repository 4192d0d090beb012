import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { POD_TEMPLATE_KEYS } from '../../../operator/strategic-merge/index.ts';
import { startControlPlane, type ControlPlane } from '../../cluster/index.ts';

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
}

interface Strategy {
  readonly path: string;
  readonly key: string;
  readonly strategy: string;
}

let cluster: ControlPlane;
let served: readonly Strategy[];

before(async () => {
  cluster = await startControlPlane();
  const document: unknown = JSON.parse(await cluster.kubectl(['get', '--raw', '/openapi/v2']));
  served = strategiesIn((document as { readonly definitions: Readonly<Record<string, Schema>> }).definitions);
});
after(() => cluster.stop());

/** Every strategy below PodTemplateSpec, by the path without indexes. */
const strategiesIn = (definitions: Readonly<Record<string, Schema>>): readonly Strategy[] => {
  const named = (schema: Schema): string | undefined =>
    (schema.$ref ?? schema.items?.$ref ?? schema.additionalProperties?.$ref)?.replace('#/definitions/', '');
  const walk = (name: string, path: string): readonly Strategy[] =>
    Object.entries(definitions[name]?.properties ?? {}).flatMap(([field, schema]) => {
      const here = path === '' ? field : `${path}.${field}`;
      const strategy = schema['x-kubernetes-patch-strategy'];
      const inner = named(schema);
      return [
        ...(strategy === undefined
          ? []
          : [{ path: here, key: schema['x-kubernetes-patch-merge-key'] ?? '', strategy }]),
        ...(inner === undefined ? [] : walk(inner, here)),
      ];
    });
  return walk('io.k8s.api.core.v1.PodTemplateSpec', '');
};

test('the table of merge keys is the one that the API server serves', () => {
  const keys = Object.fromEntries(served.map(({ path, key }) => [path, key]));
  assert.deepEqual(POD_TEMPLATE_KEYS, keys);
});

test('there are only strategies that merge', () => {
  // retainKeys concerns who computes a patch; `replace` would need a place in the table.
  const strategies = new Set(served.map(({ strategy }) => strategy));
  assert.deepEqual([...strategies].sort(), ['merge', 'merge,retainKeys']);
  assert.deepEqual(
    served.filter(({ strategy }) => strategy !== 'merge').map(({ path }) => path),
    ['spec.resourceClaims', 'spec.volumes'],
  );
});
