import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstIndexes } from '../../../runtime/config/first-indexes.ts';

test('a repetition has the index of what it repeats', () => {
  assert.deepEqual(firstIndexes(['a', 'b', 'a', 'c', 'b', 'a']), [0, 1, 0, 3, 1, 0]);
});
