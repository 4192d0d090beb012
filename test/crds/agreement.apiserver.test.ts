import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as fc from 'fast-check';

import { parseResource } from '../../crds/index.ts';
import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
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
