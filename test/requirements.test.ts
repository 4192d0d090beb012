import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { requirements } from './requirements.ts';
import { semanticCases } from './runtime/workflow/semantic-cases.ts';

const root = new URL('.', import.meta.url).pathname;

/** Rule id → files that cite it, read from the literal arguments of `covers(…)`. */
const citations = (): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>();
  for (const file of globSync('**/*.test.ts', { cwd: root })) {
    const source = readFileSync(`${root}${file}`, 'utf8');
    for (const [, ids = ''] of source.matchAll(/\bcovers\(([^)]*)\)/g)) {
      for (const [, id = ''] of ids.matchAll(/['"]([^'"]+)['"]/g)) found.set(id, [...(found.get(id) ?? []), file]);
    }
  }
  // Rows of the table of workflows say `proves`.
  for (const { file, cases } of semanticCases())
    for (const id of cases.flatMap(({ proves = [] }) => proves)) found.set(id, [...(found.get(id) ?? []), file]);
  return found;
};

const cited = citations();

test('every id that a test cites is a rule of the spec', () => {
  const unknown = [...cited].filter(([id]) => requirements[id] === undefined);
  assert.deepEqual(unknown, []);
});

test('every rule called proven is cited by a test', () => {
  const uncited = Object.entries(requirements).filter(([id, rule]) => rule.state === 'proven' && !cited.has(id));
  assert.deepEqual(uncited, []);
});

test('no rule left for later is cited as if it were proven', () => {
  const early = [...cited].filter(([id]) => requirements[id]?.state === 'later');
  assert.deepEqual(early, []);
});
