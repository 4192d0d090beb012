import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { policyProblems, questionable } from '../../runtime/gate/index.ts';

test('the policies that docs/policies.md shows can be used, and mean what they say', () => {
  const page = readFileSync(new URL('../../docs/policies.md', import.meta.url), 'utf8');
  const [, cedar = ''] = /```cedar\n([^`]+)```/.exec(page) ?? [];
  const [, entitiesJson = ''] = /```json\n([^`]+)```/.exec(page) ?? [];
  const policies = cedar.trim().split('\n\n');
  assert.equal(policies.length, 3);
  assert.deepEqual(policyProblems({ policies, entitiesJson }), []);
  assert.deepEqual(questionable({ policies, entitiesJson }), []);
});
