import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { resourceReference } from '../../crds/reference.ts';

const path = new URL('../../docs/resources.md', import.meta.url);
const LINE = '\n---\n\n';

test('docs/resources.md is what the schemas say', () => {
  const text = readFileSync(path, 'utf8');
  const head = text.slice(0, text.indexOf(LINE) + LINE.length);
  const expected = `${head}${resourceReference()}`;
  if (process.env['UPDATE_GOLDENS'] === '1') writeFileSync(path, expected);
  else assert.equal(text, expected);
});
