import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { startCollector } from '../../fixtures/otlp-collector.ts';
import type { DecodedSpan } from '../../fixtures/otlp-messages.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const compositeTools = [
  {
    name: 'flow',
    steps: [
      { id: 'one', tool: 'a.echo' },
      { id: 'each', type: 'forEach', collection: '[1,2]', dependsOn: ['one'], step: { tool: 'a.echo' } },
      { id: 'never', tool: 'a.echo', condition: 'false' },
      {
        id: 'fails',
        tool: 'a.echo',
        arguments: { x: '{{.params.missing}}' },
        onError: { action: 'continue' },
      },
      { id: 'ask', type: 'elicitation', message: 'go on?', dependsOn: ['each', 'fails'] },
    ],
  },
];

const stepOf = ({ attributes }: DecodedSpan): string =>
  ['id', 'type', 'status'].map((part) => String(attributes[`vmcp.workflow.step.${part}`])).join(' ');

test('each step of a composite tool has a span, and its calls are below it', async (t) => {
  const backend = await startBackend();
  t.after(() => backend.close());
  const collector = await startCollector();
  t.after(() => collector.close());
  const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate: '1.0' };
  const running = await startRuntime(configFile({ a: backend.url }, { telemetry, compositeTools }));
  const { state } = askedIn(await sendModern(running.url, { name: 'flow', args: {} }));
  const answers = { ask: { action: 'accept', content: {} } };
  await sendModern(running.url, { name: 'flow', args: {}, state, answers });
  await running.stop();

  const spans = collector.spans();
  const steps = spans.filter(({ name }) => name.startsWith('workflow step '));
  assert.deepEqual(steps.map(stepOf).toSorted(), [
    'ask elicitation completed',
    'ask elicitation waiting',
    'each forEach completed',
    'fails tool failed',
    'never tool skipped',
    'one tool completed',
  ]);
  const spanOf = (id: string): DecodedSpan =>
    steps.find(({ attributes }) => attributes['vmcp.workflow.step.id'] === id) ?? assert.fail(id);
  const callsBelow = ({ spanId }: DecodedSpan) => spans.filter(({ parentSpanId }) => parentSpanId === spanId);
  assert.deepEqual(
    ['one', 'each', 'never', 'fails'].map((id) => callsBelow(spanOf(id)).length),
    [1, 2, 0, 0],
  );
  assert.equal(spanOf('fails').attributes['error.type'], 'step_failed');
  assert.equal(spanOf('one').attributes['vmcp.workflow.name'], 'flow');
  const parents = new Set(steps.map(({ parentSpanId }) => spans.find(({ spanId }) => spanId === parentSpanId)?.name));
  assert.deepEqual([...parents], ['tools/call flow']);
  const [call] = callsBelow(spanOf('one'));
  assert.deepEqual(call && callsBelow(call).map(({ name }) => name), ['tools/call echo']);
});
