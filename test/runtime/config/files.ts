import assert from 'node:assert/strict';
import { stringify } from 'yaml';
import { type Config, formatProblem, loadConfig, type Problem } from '../../../runtime/config/index.ts';

/** The smallest file that is served. */
export const MINIMAL = { incomingAuth: { type: 'anonymous' } } as const;

export const yaml = (value: unknown): string => stringify(value, { aliasDuplicateObjects: false });

/** Loads one file, given as its text or as the keys that are added to the smallest one. */
export function load(file: string | Readonly<Record<string, unknown>>): ReturnType<typeof loadConfig> {
  const text = typeof file === 'string' ? file : yaml({ ...MINIMAL, ...file });
  return loadConfig([{ name: 'config.yaml', text }]);
}

export function accepted(file: string | Readonly<Record<string, unknown>>): Config {
  const loaded = load(file);
  assert.ok(loaded.ok, loaded.ok ? '' : loaded.problems.map(formatProblem).join('\n'));
  return loaded.config;
}

export function problemsOf(file: string | Readonly<Record<string, unknown>>): readonly Problem[] {
  const loaded = load(file);
  return loaded.ok ? [] : loaded.problems;
}

/** What is wrong with the file itself, apart from what is merely not supported yet: `path: reason`. */
export function refusals(file: Readonly<Record<string, unknown>>): readonly string[] {
  const problems = problemsOf(file).filter(({ reason }) => !reason.startsWith('not supported yet'));
  for (const problem of problems) {
    assert.ok(problem.line > 0 && problem.column > 0 && problem.remedy.length > 3, formatProblem(problem));
  }
  return problems.map(({ path, reason }) => `${path}: ${reason}`);
}

/** Files that are accepted, and files that are refused with exactly these reasons. */
export interface Verdicts {
  readonly accepts?: readonly Readonly<Record<string, unknown>>[];
  /** Files with the `path: reason` each one gets, and nothing else. */
  readonly refuses?: readonly (readonly [Readonly<Record<string, unknown>>, ...(string | RegExp)[]])[];
}

export function check({ accepts = [], refuses = [] }: Verdicts): void {
  for (const file of accepts) assert.deepEqual(refusals(file), [], JSON.stringify(file));
  for (const [file, ...expected] of refuses) {
    const found = refusals(file);
    const told = JSON.stringify({ file, found });
    assert.equal(found.length, expected.length, told);
    for (const [index, each] of expected.entries()) {
      if (typeof each === 'string') assert.equal(found[index], each, told);
      else assert.match(found[index] ?? '', each, told);
    }
  }
}
