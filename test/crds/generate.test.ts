import assert from 'node:assert/strict';
import { test } from 'node:test';

import { crdManifests } from '../../crds/index.ts';

const undescribed = (schema: Schema, path: string): readonly string[] => {
  const { properties = {}, additionalProperties, items } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field.description === undefined ? [`${path}.${name}`] : []),
      ...undescribed(field, `${path}.${name}`),
    ]),
    ...(items === undefined ? [] : undescribed(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : undescribed(additionalProperties, `${path}.*`)),
  ];
};

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

interface Spec {
  readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
}

test('kubectl explain has a sentence for every field', () => {
  for (const { metadata, spec } of crdManifests()) {
    const { spec: wanted = {}, status = {} } = (spec as Spec).versions[0]?.schema.openAPIV3Schema.properties ?? {};
    assert.deepEqual([...undescribed(wanted, 'spec'), ...undescribed(status, 'status')], [], metadata.name);
  }
});
