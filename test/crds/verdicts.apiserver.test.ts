import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as fc from 'fast-check';

import { parseResource } from '../../crds/index.ts';
import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
import { brokenFiles, rewrite } from './broken.ts';
import { allCases } from './cases/index.ts';
import { anyManifest } from './mutation.ts';

let api: ApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

test('parseResource and the API server give any manifest the same verdict, and store the same', async () => {
  const runs = Number(process.env['AGREEMENT_RUNS'] ?? '400');
  await fc.assert(
    fc.asyncProperty(anyManifest(allCases), async (manifest) => {
      const answer = await api.tryToCreate(manifest);
      const parsed = parseResource(manifest);
      assert.equal(parsed.ok, answer.status === 201, parsed.ok ? answer.message : JSON.stringify(parsed.problems));
      if (parsed.ok) assert.deepEqual(parsed.value['spec'], answer.object['spec']);
    }),
    { numRuns: runs },
  );
});

const standardErrorOf = async (input: string): Promise<string> => {
  try {
    return await api.kubectl(['apply', '--filename', '-'], input);
  } catch (error) {
    const [, ...lines] = (error as Error).message.trim().split('\n'); // the first is the command
    return inOneOrder(lines.map((line) => line.trimEnd())).join('\n');
  }
};

/** The API server tells several problems in no fixed order. */
const inOneOrder = (lines: readonly string[]): readonly string[] => {
  const isProblem = (line: string): boolean => line.startsWith('* ');
  return [...lines.filter((line) => !isProblem(line)), ...lines.filter(isProblem).toSorted((a, b) => (a < b ? -1 : 1))];
};

for (const broken of brokenFiles()) {
  test(`kubectl apply refuses ${broken.file} in the words it holds`, async () => {
    const words = (await standardErrorOf(JSON.stringify(broken.manifest))).trim();
    if (process.env['UPDATE_GOLDENS'] === '1') rewrite(broken, 'kubectl apply', words);
    else assert.equal(words, broken.said['kubectl apply']);
  });
}
