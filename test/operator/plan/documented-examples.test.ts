import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { KubeObject } from '../../../operator/object.ts';
import { planEverything } from '../../../operator/everything.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import type { Contract } from '../../../operator/plan/contract.ts';
import { objectsSource } from '../../../operator/read/objects-source.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { condition } from './world.ts';

const examplesOf = (page: string): readonly KubeObject[] => {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, example = '']) => {
    const { kind, metadata, spec } = parse(example) as KubeObject;
    return made(kind, metadata.name, spec as object, { uid: 'u1' });
  });
};

const verdictOn = (example: KubeObject, contract?: Contract): string | undefined => {
  const whole = { source: objectsSource([example]), namespaces: ['default'] };
  const [planned] = planEverything(reconciledKinds(contract), whole, DEFAULT_SETTINGS);
  assert.ok(planned);
  return condition(planned.plan, 'Valid')?.reason;
};

for (const page of ['workloads.md', 'stdio-servers.md', 'remote-proxy.md'])
  test(`docs/${page}: the first example is served today, and every other one once everything is built`, () => {
    const [first, ...others] = examplesOf(page);
    assert.ok(first);
    assert.equal(verdictOn(first), 'Valid');
    for (const other of others) assert.equal(verdictOn(other, everythingBuilt()), 'Valid');
  });
