import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { kinds } from '../../../crds/index.ts';
import type { Planned } from '../../../operator/kinds/plan-everything.ts';
import { goldenText, planGolden, readGolden, writeGolden } from './golden.ts';

const root = join(import.meta.dirname, '../../manifests');
const rewrite = process.env['UPDATE_GOLDENS'] === '1';

for (const name of globSync('*/*.yaml', { cwd: root }).sort()) {
  test(`golden ${name}`, () => {
    const path = join(root, name);
    const { input, output } = readGolden(path);
    const planned = planGolden(input);
    for (const each of planned) assertReportable(each);
    const text = goldenText(planned);
    if (rewrite) writeGolden(path, input, text);
    else assert.equal(text, output);
    assert.equal(goldenText(planGolden(input)), text, 'planning twice gives the same');
  });
}

/** What is planned as status is what the CRD's schema takes. */
const assertReportable = ({ object, plan }: Planned): void => {
  const stamp = { lastTransitionTime: '2026-01-01T00:00:00Z' };
  const conditions = (plan.status?.['conditions'] ?? []) as readonly object[];
  const status = { ...plan.status, conditions: conditions.map((condition) => ({ ...condition, ...stamp })) };
  const { error } = kinds[object.kind as keyof typeof kinds].status.safeParse(status);
  assert.equal(error?.message, undefined);
};

test('every condition and reason that a golden shows is explained in docs/status.md', () => {
  const docs = readFileSync(join(root, '../../docs/status.md'), 'utf8');
  const shown = globSync('*/*.yaml', { cwd: root }).flatMap((name) => [
    ...readGolden(join(root, name)).output.matchAll(/^ {4}(?:- type|  reason): (\w+)$/gm),
  ]);
  const unexplained = new Set(shown.map(([, word = '']) => word).filter((word) => !docs.includes(`\`${word}\``)));
  assert.deepEqual([...unexplained], []);
});
