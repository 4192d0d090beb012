import { casesOf } from '../case.ts';
import { ENUM, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const set = (path: string, value: unknown) => ({ [`config.${path}`]: value });

const step = { id: 'a', tool: 'github.search' };
const workflow = (changes: Readonly<Record<string, unknown>>) =>
  set('compositeTools', [{ name: 'report', steps: [step], ...changes }]);
const steps = (changes: Readonly<Record<string, unknown>>) => workflow({ steps: [{ ...step, ...changes }] });
const question = { id: 'a', type: 'elicitation', message: 'Go on?' };
const loop = { id: 'a', type: 'forEach', collection: '{{ .params.items }}', step: { tool: 'github.search' } };
const STEP = 'spec.config.compositeTools[0].steps[0]';

export const workflowCases = [
  accepts(
    { of: 'crd.config.steps.type-default', set: workflow({}) },
    { 'config.compositeTools[0].steps[0].type': 'tool' },
  ),
  refuses(
    { of: 'crd.config.composite-tools.name-required', set: set('compositeTools', [{ steps: [step] }]) },
    'spec.config.compositeTools[0].name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.composite-tools.steps-required', set: set('compositeTools', [{ name: 'report' }]) },
    'spec.config.compositeTools[0].steps',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.composite-tools.output-properties-required', set: workflow({ output: {} }) },
    'spec.config.compositeTools[0].output.properties',
    REQUIRED,
  ),
  ...['string', 'integer', 'number', 'boolean', 'object', 'array'].map((type) =>
    accepts({
      of: 'crd.config.composite-tools.output-type-enum',
      set: workflow({ output: { properties: { a: { type } } } }),
    }),
  ),
  refuses(
    {
      of: 'crd.config.composite-tools.output-type-enum',
      set: workflow({ output: { properties: { a: { type: 'date' } } } }),
    },
    'spec.config.compositeTools[0].output.properties.a.type',
    ENUM,
  ),
  refuses({ of: 'crd.config.steps.id-required', set: workflow({ steps: [{ tool: 'a.b' }] }) }, `${STEP}.id`, REQUIRED),
  accepts({ of: 'crd.config.steps.type-enum', set: workflow({ steps: [question] }) }),
  accepts(
    { of: 'crd.config.steps.type-enum', set: workflow({ steps: [loop] }) },
    { 'config.compositeTools[0].steps[0].maxIterations': 100, 'config.compositeTools[0].steps[0].itemVar': 'item' },
  ),
  refuses({ of: 'crd.config.steps.type-enum', set: steps({ type: 'script' }) }, `${STEP}.type`, ENUM),
  ...[{ a: [1] }, ['a'], 'text', 7].map((defaultResults) =>
    accepts(
      { of: 'crd.config.steps.default-results-any', set: steps({ defaultResults }) },
      { 'config.compositeTools[0].steps[0].defaultResults': defaultResults },
    ),
  ),
  ...['abort', 'continue'].map((action) =>
    accepts({ of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action } }) }),
  ),
  accepts({ of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action: 'retry', retryCount: 2 } }) }),
  refuses(
    { of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action: 'panic' } }) },
    `${STEP}.onError.action`,
    ENUM,
  ),
  refuses({ set: steps({ onError: { action: 'retry' } }) }, `${STEP}.onError`, 'action retry needs retryCount'),
  accepts(
    { of: 'crd.config.steps.on-error.action-default', set: steps({ onError: {} }) },
    { 'config.compositeTools[0].steps[0].onError.action': 'abort' },
  ),
  ...(['onDecline', 'onCancel'] as const).map((key) =>
    accepts(
      {
        of: `crd.config.steps.${key === 'onDecline' ? 'on-decline' : 'on-cancel'}.action-default`,
        set: workflow({ steps: [{ ...question, [key]: {} }] }),
      },
      { [`config.compositeTools[0].steps[0].${key}.action`]: 'abort' },
    ),
  ),
  ...['skip_remaining', 'abort', 'continue'].flatMap((action) => [
    accepts({
      of: 'crd.config.steps.on-decline.action-enum',
      set: workflow({ steps: [{ ...question, onDecline: { action } }] }),
    }),
    accepts({
      of: 'crd.config.steps.on-cancel.action-enum',
      set: workflow({ steps: [{ ...question, onCancel: { action } }] }),
    }),
  ]),
  refuses(
    {
      of: 'crd.config.steps.on-decline.action-enum',
      set: workflow({ steps: [{ ...question, onDecline: { action: 'retry' } }] }),
    },
    `${STEP}.onDecline.action`,
    ENUM,
  ),
  refuses(
    {
      of: 'crd.config.steps.on-cancel.action-enum',
      set: workflow({ steps: [{ ...question, onCancel: { action: 'retry' } }] }),
    },
    `${STEP}.onCancel.action`,
    ENUM,
  ),
  refuses({ set: workflow({ steps: [{ id: 'a' }] }) }, STEP, 'type tool needs tool'),
  refuses({ set: workflow({ steps: [{ id: 'a', type: 'elicitation' }] }) }, STEP, 'type elicitation needs message'),
  refuses({ set: workflow({ steps: [{ ...loop, collection: undefined }] }) }, STEP, 'type forEach needs collection'),
  refuses({ set: workflow({ steps: [{ ...loop, step: undefined }] }) }, STEP, 'type forEach needs step'),
  refuses(
    { of: 'workflow.foreach.inner-tool-only', set: workflow({ steps: [{ ...loop, step: { type: 'elicitation' } }] }) },
    `${STEP}.step.type`,
    ENUM,
  ),
  refuses({ set: workflow({ steps: [loop, loop] }) }, 'spec.config.compositeTools[0].steps[1]', 'Duplicate value'),
  refuses(
    { of: 'workflow.foreach.cap-1000', set: workflow({ steps: [{ ...loop, maxIterations: 1001 }] }) },
    `${STEP}.maxIterations`,
    '1000',
  ),
  refuses({ of: 'workflow.step.tool-format', set: steps({ tool: 'search' }) }, `${STEP}.tool`, 'should match'),
];
