import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { TemplateError, TemplateSyntaxError, expandTemplate, parseTemplate } from '../../../runtime/templates/index.ts';
import { data as generatedData, template } from './generated.ts';
import { type Task, goEngine } from './go-engine.ts';

interface Case {
  readonly template: string;
  /** What we give where that is not what Go gives: a text, or `false` for a template that is refused. */
  readonly here?: string | false;
}

const { data, cases } = parse(readFileSync(new URL('cases.yaml', import.meta.url), 'utf8')) as {
  readonly data: Task['data'];
  readonly cases: readonly (string | Case)[];
};
const table = cases.map((one): Case => (typeof one === 'string' ? { template: one } : one));

/** The text, or `false` where the template is refused or fails. */
const outcomeOf = ({ template, data }: Task): string | false => {
  try {
    return expandTemplate(parseTemplate(template), data);
  } catch (error) {
    if (error instanceof TemplateError || error instanceof TemplateSyntaxError) return false;
    throw error;
  }
};

const go = await goEngine();

test('templates give what Go gives', { skip: go.ok ? false : go.why }, async () => {
  assert.ok(go.ok);
  assert.ok(table.length >= 150, `${table.length} cases`);
  const outcomes = await go.expand(table.map(({ template }) => ({ template, data })));
  const differences = table.flatMap(({ template, here }, index) => {
    const outcome = outcomes[index];
    const there = outcome?.stage === undefined ? (outcome?.output ?? false) : false;
    const ours = outcomeOf({ template, data });
    // A case that says it differs has to differ.
    if (here !== undefined && here !== there && ours === here) return [];
    return ours === there && here === undefined ? [] : [{ template, ours, there, error: outcome?.error }];
  });
  assert.deepEqual(differences, []);
});

/** Go's errors where ours has a result: numbers of the data count as whole where they are, and quote takes all values. */
const TOLERATED =
  /incompatible types for comparison: (?:int and float64|float64 and int)|cannot index slice\/array with type float64|range can't iterate over \d+(?:\.0)?\b|<quote|expected string; (?:found|got)|index out of range|reflect: slice index/;

test('so do templates that are made up', { skip: go.ok ? false : go.why }, async () => {
  assert.ok(go.ok);
  const tasks = fc.sample(fc.record({ template, data: generatedData }), { numRuns: 1_500, seed: 21 });
  const outcomes = await go.expand(tasks);
  const differences = tasks.flatMap((task, index) => {
    const outcome = outcomes[index];
    const there = outcome?.stage === undefined ? (outcome?.output ?? false) : false;
    const ours = outcomeOf(task);
    if (ours === there) return [];
    if (there === false && TOLERATED.test(outcome?.error ?? '')) return [];
    return [{ ...task, ours, there, error: outcome?.error }];
  });
  assert.deepEqual(differences, []);
});
