import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { references } from '../../../crds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { covers } from '../../requirements.ts';
import { planGolden, readGolden } from './golden.ts';

const root = join(import.meta.dirname, '../../manifests');
const VALUE = 'open-sesame';
const BASE64 = Buffer.from(VALUE).toString('base64');

const objectsIn = (text: string): readonly KubeObject[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);

/** Every Secret that one of the objects names, with every key holding the value, in either spelling. */
const secretsOf = (objects: readonly KubeObject[]): readonly object[] => {
  const keys = [...JSON.stringify(objects).matchAll(/"key":"([^"]+)"/g)].map(([, key = '']) => key);
  const names = objects.flatMap((object) => references(object.kind, object)).filter(({ kind }) => kind === 'Secret');
  return [...new Set(names.map(({ name }) => name))].map((name) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    data: Object.fromEntries(keys.map((key) => [key, BASE64])),
    stringData: Object.fromEntries(keys.map((key) => [key, VALUE])),
  }));
};

covers('secrets.never-inline');
test('nothing that is planned, files, objects and statuses, holds what is in a Secret', () => {
  let named = 0;
  for (const name of globSync('*/*.yaml', { cwd: root })) {
    const { input } = readGolden(join(root, name));
    const secrets = secretsOf(objectsIn(input));
    named += secrets.length;
    const all = [input, ...secrets.map((each) => stringify(each))].join('\n---\n');
    const planned = planGolden(all).map(({ plan }) => plan);
    assert.doesNotMatch(JSON.stringify(planned), new RegExp(`${VALUE}|${BASE64}`), name);
  }
  assert.ok(named > 10, `${named} Secrets were named`);
});
