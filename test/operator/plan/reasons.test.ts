import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FACT_TYPES, PROBLEM_TYPES } from '../../../operator/plan/conditions.ts';
import { REASONS } from '../../../operator/plan/reasons.ts';
import { SUBJECTS } from '../../../operator/plan/subjects.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const docs = read('docs/status.md');
const missing = (words: readonly string[]): readonly string[] => words.filter((word) => !docs.includes(`\`${word}\``));

/** Nothing but objects of ours can break a rule that the operator knows. */
const reasonsOf = ([kind, subject]: readonly [string, string]): readonly string[] =>
  ['Found', 'NotFound', ...(['Secret', 'ConfigMap'].includes(kind) ? [] : ['Invalid'])].map(
    (end) => `${subject}${end}`,
  );

const WORDS: readonly string[] = [
  ...FACT_TYPES,
  ...PROBLEM_TYPES,
  ...REASONS,
  ...Object.entries(SUBJECTS).flatMap((each) => [`${each[1]}Resolved`, ...reasonsOf(each)]),
];

/** Phases, what a condition may be, types of events, and the reason of one that no condition tells of. */
const OTHER_WORDS = 'ChildTaken Pending Downloading Degraded Failed Stopped True False Unknown Normal Warning'.split(
  ' ',
);

test('docs/status.md has every type and every reason of a condition', () => {
  assert.deepEqual(missing(WORDS), []);
});

test('and no others', () => {
  const found = [...read('docs/status.md').matchAll(/`([A-Z][A-Za-z]+)`/g)].map(([, word = '']) => word);
  assert.deepEqual(
    found.filter((word) => ![...WORDS, ...OTHER_WORDS].includes(word)),
    [],
  );
});

test('no reason is listed that the operator does not give', () => {
  const files = globSync('operator/**/*.ts', { cwd: ROOT }).filter((path) => !path.endsWith('plan/reasons.ts'));
  const code = files.map(read).join('');
  assert.deepEqual(
    REASONS.filter((reason) => !code.includes(`'${reason}'`)),
    [],
  );
});
