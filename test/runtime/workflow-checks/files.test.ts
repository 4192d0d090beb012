import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatProblem, loadConfig } from '../../../runtime/config/index.ts';
import { FURTHER_CHECKS } from '../../../runtime/further-checks.ts';
import { workflowWarnings } from '../../../runtime/workflow-checks/index.ts';

const file = (steps: string): string => `name: demo
incomingAuth: { type: anonymous }
outgoingAuth: { source: inline }
backends:
  - { name: tracker, url: https://tracker.example.com/mcp, transport: streamable-http }
compositeTools:
  - name: w
    steps:
${steps}`;

const problemsOf = (text: string): readonly string[] => {
  const loaded = loadConfig([{ name: 'config.yaml', text }], FURTHER_CHECKS.problems);
  return loaded.ok ? [] : loaded.problems.map(formatProblem);
};

test('a configuration is refused with line and column of what is wrong in a workflow', () => {
  const text = file(`      - id: find
        tool: tracker.find
        arguments:
          q: '{{.steps.fnd.output.id}}'
`);
  assert.ok(
    problemsOf(text).includes(
      'config.yaml:12:14: compositeTools[0].steps[0].arguments.q: no step has the id "fnd"; name a step of this workflow',
    ),
    problemsOf(text).join('\n'),
  );
});

test('what is questionable is a warning, and tools of workloads that are not there are, too', () => {
  const compositeTools = [
    {
      name: 'w',
      steps: [
        { id: 'a', type: 'tool', tool: 'tracker.find' },
        { id: 'b', type: 'tool', tool: 'trackr.find', arguments: { q: '{{.steps.a.output.id}}' } },
        { id: 'c', type: 'forEach', collection: '[]', step: { tool: 'x.y' }, dependsOn: ['a'] },
      ],
    },
  ];
  const config = { compositeTools, backends: [{ name: 'tracker' }] } as unknown as Parameters<
    typeof workflowWarnings
  >[0];
  assert.deepEqual(workflowWarnings(config), [
    'compositeTools[0].steps[1].dependsOn: step "b" waits for "a", since its templates read it; write dependsOn: [a]',
    'compositeTools[0].steps[1].tool: no backend has the name in "trackr.find"; write <workload>.<tool>',
    'compositeTools[0].steps[2].step.tool: no backend has the name in "x.y"; write <workload>.<tool>',
  ]);
});
