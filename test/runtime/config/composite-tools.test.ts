import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compositeToolSchema } from '../../../runtime/config/index.ts';
import { covers } from '../../requirements.ts';
import { check } from './files.ts';

const workflow = (...steps: readonly object[]) => ({ compositeTools: [{ name: 'w', steps }] });
const step = (id: string, more: object = {}) => ({ id, tool: 'a.echo', ...more });
const forEach = (more: object) =>
  workflow({ id: 'x', type: 'forEach', collection: '{{.params.list}}', step: { tool: 'a.echo' }, ...more });

suite('composite tools', () => {
  covers('workflow.name.unique', 'workflow.step.id-unique');
  test('names and steps are required, names and step ids unique', () => {
    check({
      accepts: [workflow(step('x'), step('y', { dependsOn: ['x'], timeout: '5s', defaultResults: [1, 'a'] }))],
      refuses: [
        [{ compositeTools: [{ steps: [step('x')] }] }, 'compositeTools[0].name: is missing'],
        [{ compositeTools: [{ name: 'w' }] }, 'compositeTools[0].steps: is missing'],
        [workflow(), 'compositeTools[0].steps: must have at least 1 item'],
        [workflow(step('x'), step('x')), 'compositeTools[0].steps[1].id: id "x" is already used by item 0'],
        [
          { compositeTools: [...workflow(step('x')).compositeTools, ...workflow(step('x')).compositeTools] },
          'compositeTools[1].name: name "w" is already used by item 0',
        ],
      ],
    });
  });

  covers('workflow.step.tool-format');
  test('a tool is named by workload and tool', () => {
    check({
      refuses: ['echo', '.echo', 'a.', 'a b.c'].map((tool) => [
        workflow({ id: 'x', tool }),
        'compositeTools[0].steps[0].tool: not a tool of a workload',
      ]),
    });
  });

  test('each kind of step has what it needs', () => {
    check({
      accepts: [
        workflow({
          id: 'x',
          type: 'elicitation',
          message: 'Go on?',
          schema: { type: 'object' },
          onDecline: {},
          onCancel: { action: 'continue' },
        }),
        forEach({ maxIterations: 1000, maxParallel: 1, itemVar: 'each' }),
      ],
      refuses: [
        [workflow({ id: 'x' }), 'compositeTools[0].steps[0]: type tool needs tool'],
        [workflow({ id: 'x', type: 'elicitation' }), 'compositeTools[0].steps[0]: type elicitation needs message'],
        [
          workflow({ id: 'x', type: 'forEach' }),
          'compositeTools[0].steps[0]: type forEach needs collection',
          'compositeTools[0].steps[0]: type forEach needs step',
        ],
        [workflow({ id: 'x', type: 'loop' }), 'compositeTools[0].steps[0].type: "loop" is not a known value'],
        [
          workflow({ id: 'x', type: 'elicitation', message: 'm', onDecline: { action: 'retry' } }),
          'compositeTools[0].steps[0].onDecline.action: "retry" is not a known value',
        ],
      ],
    });
  });

  covers('workflow.foreach.inner-tool-only', 'workflow.foreach.cap-1000');
  test('forEach repeats only tool calls, at most 1000 times', () => {
    check({
      refuses: [
        [forEach({ maxIterations: 1001 }), 'compositeTools[0].steps[0].maxIterations: must be at most 1000'],
        [forEach({ maxParallel: 0 }), 'compositeTools[0].steps[0].maxParallel: must be at least 1'],
        [forEach({ step: { type: 'elicitation', tool: 'a.b' } }), /step\.type: "elicitation" is not a known value$/],
        [forEach({ step: { type: 'forEach', tool: 'a.b' } }), /step\.type: "forEach" is not a known value$/],
        [forEach({ step: {} }), 'compositeTools[0].steps[0].step: type tool needs tool'],
        [forEach({ itemVar: '1st' }), 'compositeTools[0].steps[0].itemVar: not a variable name'],
      ],
    });
  });

  test('retry needs a count', () => {
    check({
      accepts: [workflow(step('x', { onError: { action: 'retry', retryCount: 3, retryDelay: '100ms' } }))],
      refuses: [
        [
          workflow(step('x', { onError: { action: 'retry' } })),
          'compositeTools[0].steps[0].onError: action retry needs retryCount',
        ],
        [workflow(step('x', { onError: { action: 'ignore' } })), /"ignore" is not a known value$/],
      ],
    });
  });

  test('steps wait for known steps, and never for each other', () => {
    check({
      accepts: [workflow(step('x'), step('y', { dependsOn: ['x'] }), step('z', { dependsOn: ['x', 'y'] }))],
      refuses: [
        [
          workflow(step('x', { dependsOn: ['nobody'] })),
          'compositeTools[0].steps[0].dependsOn[0]: no step has the id "nobody"',
        ],
        [workflow(step('x', { dependsOn: ['x'] })), 'compositeTools[0].steps[0].dependsOn[0]: "x" waits for itself'],
        [
          workflow(step('x', { dependsOn: ['z'] }), step('y', { dependsOn: ['x'] }), step('z', { dependsOn: ['y'] })),
          'compositeTools[0].steps[0].dependsOn[0]: "x" and "z" wait for each other',
          'compositeTools[0].steps[1].dependsOn[0]: "y" and "x" wait for each other',
          'compositeTools[0].steps[2].dependsOn[0]: "z" and "y" wait for each other',
        ],
      ],
    });
  });

  test('an output names its properties', () => {
    const output = (value: object) => ({ compositeTools: [{ name: 'w', steps: [step('x')], output: value }] });
    check({
      accepts: [
        output({
          properties: { n: { type: 'integer', value: '{{.steps.x.output.n}}', default: '5' } },
          required: ['n'],
        }),
      ],
      refuses: [
        [output({}), 'compositeTools[0].output.properties: is missing'],
        [output({ properties: { n: { type: 'float' } } }), /"float" is not a known value$/],
      ],
    });
  });

  covers('crd.config.composite-tools.output-type-enum');
  test('properties inside properties of an output are properties, at any depth', () => {
    const nested = (depth: number, value: object): object =>
      depth === 0 ? value : { type: 'object', properties: { n: nested(depth - 1, value) } };
    const output = (value: object) => ({
      compositeTools: [{ name: 'w', steps: [step('x')], output: { properties: { n: value } } }],
    });
    const at = (depth: number) => `compositeTools[0].output.properties.n${'.properties.n'.repeat(depth)}`;
    check({
      accepts: [output(nested(9, { type: 'integer', value: '{{.params.n}}', default: 5, description: 'How many' }))],
      refuses: [1, 2, 9].flatMap((depth) => [
        [output(nested(depth, { type: 'float' })), `${at(depth)}.type: "float" is not a known value`] as const,
        [output(nested(depth, { type: 'object', property: {} })), `${at(depth)}.property: unknown key`] as const,
      ]),
    });
  });

  covers(
    'crd.config.steps.type-default',
    'crd.config.steps.on-error.action-default',
    'crd.config.steps.on-decline.action-default',
    'crd.config.steps.on-cancel.action-default',
  );
  test('a step calls a tool unless it says otherwise, and what goes wrong ends the workflow', () => {
    const ask = { id: 'y', type: 'elicitation', message: 'Go on?', onDecline: {}, onCancel: {} };
    const steps = [step('x', { onError: {} }), ask];
    const [first, second] = compositeToolSchema.parse({ name: 'w', steps }).steps;
    assert.deepEqual([first?.type, first?.onError?.action], ['tool', 'abort']);
    assert.deepEqual([second?.onDecline?.action, second?.onCancel?.action], ['abort', 'abort']);
  });

  test('workflow and step timeouts are durations', () => {
    const path = 'compositeTools[0]';
    check({
      refuses: [
        [{ compositeTools: [{ name: 'w', steps: [step('x')], timeout: '1d' }] }, `${path}.timeout: not a duration`],
        [workflow(step('x', { timeout: '5' })), `${path}.steps[0].timeout: not a duration`],
        [
          workflow(step('x', { onError: { action: 'retry', retryCount: 1, retryDelay: '-1s' } })),
          `${path}.steps[0].onError.retryDelay: not a duration`,
        ],
      ],
    });
  });
});
