import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { parseResource } from '../../crds/index.ts';
import { manifestOf, title, valueAt } from './case.ts';
import { allCases } from './cases/index.ts';

for (const each of allCases) {
  test(`parseResource: ${title(each)}`, () => {
    const { expected } = each;
    const parsed = parseResource(manifestOf(each));
    if ('stored' in expected) {
      assert.ok(parsed.ok, JSON.stringify(parsed));
      for (const [path, value] of Object.entries(expected.stored))
        assert.deepEqual(valueAt(parsed.value, path), value, path);
      return;
    }
    assert.ok(!parsed.ok, 'accepted');
    assert.ok(
      // The API server names the unknown field inside a value of the wrong type; here the value itself is named.
      parsed.problems.some(({ path }) => expected.at === path || expected.at.startsWith(`${path}.`)),
      JSON.stringify(parsed.problems),
    );
  });
}

test('the rules that the API server test cites are those its cases prove', () => {
  const source = readFileSync(new URL('manifests.apiserver.test.ts', import.meta.url), 'utf8');
  const [, list = ''] = /\bcovers\(([^)]*)\)/.exec(source) ?? [];
  const cited = [...list.matchAll(/'([^']+)'/g)].map(([, id = '']) => id);
  assert.deepEqual(cited, [...new Set(allCases.flatMap(({ proves }) => proves))].sort());
});
