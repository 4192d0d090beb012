import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseResource } from '../../crds/index.ts';
import { brokenFiles, rewrite } from './broken.ts';

for (const broken of brokenFiles()) {
  test(`${broken.file} is refused in the words it holds`, () => {
    const parsed = parseResource(broken.manifest);
    const words = parsed.ok
      ? 'accepted'
      : parsed.problems.map(({ path, reason, remedy }) => `${path}: ${reason}; ${remedy}`).join('\n');
    if (process.env['UPDATE_GOLDENS'] === '1') rewrite(broken, 'vmcp-operator', words);
    else assert.equal(words, broken.said['vmcp-operator']);
  });
}
