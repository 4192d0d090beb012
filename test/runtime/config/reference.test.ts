import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { reference } from '../../../runtime/config/reference.ts';

const path = new URL('../../../docs/configuration.md', import.meta.url).pathname;
const LINE = '\n---\n\n';

test('docs/configuration.md is what the schemas say', () => {
  const text = readFileSync(path, 'utf8');
  const head = text.slice(0, text.indexOf(LINE) + LINE.length);
  const expected = `${head}${reference()}`;
  if (process.env['UPDATE_GOLDENS'] === '1') writeFileSync(path, expected);
  else assert.equal(text, expected);
});

test('every key has a meaning in words', () => {
  const silent = reference()
    .split('\n')
    .filter((line) => line.startsWith('| `') && /\|\s+\| [^|]+ \|$/.test(line));
  assert.deepEqual(silent, []);
});
