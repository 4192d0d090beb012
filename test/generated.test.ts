import assert from 'node:assert/strict';
import { test } from 'node:test';
import { staleFiles } from '../generate.ts';

test('all that is generated says what its sources say', () => {
  assert.deepEqual(
    staleFiles().map(({ path }) => path),
    [],
    'run: npm run generate',
  );
});
