import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToolIndex } from '../../../../runtime/optimizer/search/index.ts';

test('which tools lack vectors is told without reading their texts', () => {
  let readings = 0;
  const counted = {
    name: 'counted',
    get inputSchema() {
      return void (readings += 1);
    },
  };
  const index = new ToolIndex();
  index.add(counted);
  const before = readings;
  assert.equal(index.missingVectors().length, 1);
  assert.equal(readings, before);
});
