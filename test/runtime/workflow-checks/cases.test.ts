import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { formatPath } from '../../../runtime/config/index.ts';
import { type WorkflowFinding, workflowDoubts, workflowProblems } from '../../../runtime/workflow-checks/index.ts';
import { covers } from '../../requirements.ts';

interface Case {
  readonly name: string;
  readonly workflow: unknown;
  readonly problems?: readonly string[];
  readonly doubts?: readonly string[];
}

const cases = parse(readFileSync(new URL('cases.yaml', import.meta.url), 'utf8')) as readonly Case[];

const lines = (findings: readonly WorkflowFinding[]): readonly string[] =>
  findings.map(({ path: [_index, ...path], reason, remedy }) => `${formatPath(path)}: ${reason}; ${remedy}`);

for (const { name, workflow, problems = [], doubts = [] } of cases) {
  test(name, () => {
    const found = workflowProblems({ workflows: [workflow], hasOptimizer: false });
    assert.deepEqual(lines(found), problems);
    assert.deepEqual(lines(workflowDoubts([workflow])), doubts);
  });
}

covers('workflow.default-results.required-when-used');
test('defaultResults are required where a step may be skipped and its output is read, and only there', () => {
  const problemsOf = (first: object, second: object): readonly string[] => {
    const steps = [
      { id: 'a', tool: 'b.t', ...first },
      { id: 'b', tool: 'b.t', dependsOn: ['a'], ...second },
    ];
    return lines(workflowProblems({ workflows: [{ name: 'w', steps }], hasOptimizer: false }));
  };
  const [condition, reads] = [{ condition: '{{.params.x}}' }, { arguments: { q: '{{.steps.a.output.x}}' } }];
  const missing =
    'steps[0]: has a condition, so that its output may be missing, and step "b" reads it; set defaultResults';
  assert.deepEqual(problemsOf(condition, reads), [missing]);
  assert.deepEqual(problemsOf(condition, { condition: '{{with .steps}}{{.a.output}}{{end}}' }), [missing]);
  assert.deepEqual(problemsOf({ ...condition, defaultResults: { x: '' } }, reads), []);
  assert.deepEqual(problemsOf({ ...condition, defaultResults: null }, reads), []);
  assert.deepEqual(problemsOf(condition, {}), []);
  assert.deepEqual(problemsOf({}, reads), []);
});

test('a workflow has no name of the optimizer where there is one', () => {
  const workflows = [{ name: 'find_tool', steps: [] }, { name: 'x' }, { name: 'call_tool' }];
  assert.deepEqual(workflowProblems({ workflows, hasOptimizer: false }), []);
  assert.deepEqual(
    workflowProblems({ workflows, hasOptimizer: true }).map(({ path }) => path),
    [
      [0, 'name'],
      [2, 'name'],
    ],
  );
});

test('the first hundred problems of a workflow are told', () => {
  const steps = Array.from({ length: 300 }, (_, index) => ({ id: `s${index}`, tool: 'a.b', condition: '{{' }));
  assert.equal(workflowProblems({ workflows: [{ name: 'w', steps }], hasOptimizer: false }).length, 100);
});
