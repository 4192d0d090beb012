import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { POD_TEMPLATE_KEYS, patchProblems, strategicMerge } from '../../../operator/strategic-merge/index.ts';
import { run } from '../../cluster/command.ts';
import { ensurePrograms } from '../../cluster/programs.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { patchesOf } from './arbitrary.ts';
import { patches, template } from './patches.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let kubectlProgram: string;

before(async () => {
  scratch = await scratchFolder('strategic-merge');
  ({ kubectl: kubectlProgram } = await ensurePrograms(['kubectl']));
  const object = { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'ours' }, template };
  await writeFile(join(scratch.path, 'ours.json'), JSON.stringify(object));
});
after(() => scratch.remove());

/** The template as kubectl patches it, without a server. */
const byKubectl = async (patch: object): Promise<unknown> => {
  const args = ['patch', '--local', '--type=strategic', '-f', join(scratch.path, 'ours.json'), '-o', 'json'];
  const text = await run(kubectlProgram, [...args, '-p', JSON.stringify({ template: patch })], {
    env: { ...process.env, KUBECONFIG: join(scratch.path, 'none'), HOME: scratch.path },
  });
  return (JSON.parse(text) as { readonly template?: unknown }).template;
};

const byUs = (patch: object): unknown => strategicMerge(template, { ...patch }, POD_TEMPLATE_KEYS);

/** In what is new kubectl leaves nulls, which mean absence to the server, and directives, which it would refuse. */
const withoutLeftOvers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => !isLeftOver(item)).map(withoutLeftOvers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !key.startsWith('$') && !isLeftOver(inner))
      .map(([key, inner]) => [key, withoutLeftOvers(inner)]),
  );
};

const isLeftOver = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.hasOwn(value, '$patch'));

for (const [title, patch] of patches) {
  test(`merges as kubectl does: ${title}`, async () => {
    assert.deepEqual(byUs(patch), withoutLeftOvers(await byKubectl(patch)));
  });
}

test('neither the template nor the patch is changed by merging', () => {
  const before = structuredClone({ template, patches });
  for (const [, patch] of patches) byUs(patch);
  assert.deepEqual({ template, patches }, before);
});

test('any patch without a problem merges as kubectl does', async () => {
  await fc.assert(
    fc.asyncProperty(patchesOf(template, POD_TEMPLATE_KEYS), async (patch) => {
      fc.pre(patchProblems(patch, POD_TEMPLATE_KEYS).length === 0);
      assert.deepEqual(byUs(patch), withoutLeftOvers(await byKubectl(patch)));
    }),
    { numRuns: 40 },
  );
});
