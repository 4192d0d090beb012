import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryBytesOf } from '../../../operator/cache/memory-bytes.ts';

test('a value weighs what it takes in memory, not what it takes as text', () => {
  const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`l${index}`, '']));
  assert.ok(memoryBytesOf(labels) > 3 * JSON.stringify(labels).length);
  assert.ok(memoryBytesOf(Array.from({ length: 1_000 }, () => ({}))) >= 48_000);
  assert.equal(memoryBytesOf({ a: 'x'.repeat(1_000) }) - memoryBytesOf({ a: '' }), 1_000);
  assert.equal(memoryBytesOf('€'.repeat(1_000)) - memoryBytesOf(''), 2_000);
});

test('a value may be nested as deeply as the API server takes it', () => {
  let deep: object = {};
  for (let index = 0; index < 100_000; index += 1) deep = { deep };
  assert.ok(memoryBytesOf(deep) > 100_000);
});
