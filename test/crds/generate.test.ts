import assert from 'node:assert/strict';
import { test } from 'node:test';

import { manifestFiles, writtenFiles } from '../../crds/generate.ts';

test('crds/manifests holds what the schemas say (run: node crds/generate.ts)', () => {
  assert.deepEqual([...writtenFiles()].toSorted(), [...manifestFiles()].toSorted());
});
