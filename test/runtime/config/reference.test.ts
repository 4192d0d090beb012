import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reference } from '../../../runtime/config/reference.ts';

test('every key has a meaning in words', () => {
  const silent = reference()
    .split('\n')
    .filter((line) => line.startsWith('| `') && /\|\s+\| [^|]+ \|$/.test(line));
  assert.deepEqual(silent, []);
});
