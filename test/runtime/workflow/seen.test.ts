import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createMetrics } from '../../../runtime/observe/index.ts';
import type { Running } from '../../../runtime/start.ts';
import { Executions } from '../../../runtime/workflow/executions.ts';
import { answerJson, type Behaviour, type FixtureBackend, hang, startBackend } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { legacyCaller } from '../../fixtures/workflow-callers.ts';

interface Seen {
  readonly workflow: string;
  readonly state: string;
  readonly error?: string;
  readonly durationMs?: number;
  readonly steps: readonly { readonly id: string; readonly type: string; readonly state: string }[];
}

const compositeTools = [
  { name: 'fine', steps: [{ id: 'x', tool: 'a.echo', arguments: { secret: '{{.params.secret}}' } }] },
  {
    name: 'bad',
    steps: [
      { id: 'x', tool: 'a.bad' },
      { id: 'y', type: 'forEach', collection: '[1]', step: { tool: 'a.hung' } },
    ],
  },
  {
    name: 'asks',
    steps: [
      { id: 'skipped', tool: 'a.echo', condition: 'false' },
      { id: 'ask', type: 'elicitation', message: 'a secret question?', dependsOn: ['skipped'] },
    ],
  },
];

const ANSWERS = new Map<string, Behaviour>([
  ['bad', answerJson('{"content":[{"type":"text","text":"a secret error"}],"isError":true}')],
  ['hung', hang],
]);

test('of all executions the newest 100 are kept', () => {
  const { meter } = createMetrics();
  let drawn = 0;
  const entropy = (): Buffer => Buffer.from(String((drawn += 1)));
  const executions = new Executions({ clock: frozenClock(), steadyNow: () => 0, meter, entropy });
  for (const n of Array.from({ length: 102 }).keys())
    executions.begin({ name: `w${n}` }, { id: undefined, startedAt: 0 });
  const kept = executions.newestFirst().map(({ workflow }) => workflow);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [100, 'w101', 'w2']);
});

describe('executions of workflows', () => {
  let backend: FixtureBackend;
  let running: Running;

  beforeEach(async () => {
    backend = await startBackend({
      tools: ['echo', 'bad', 'hung'],
      on: ({ recorded: { method, params } }) =>
        method === 'tools/call' ? ANSWERS.get(String(params['name'])) : undefined,
    });
    running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
  });
  afterEach(() => Promise.all([running.stop(), backend.close()]));

  const text = async (path: string): Promise<string> => (await fetch(`${running.managementUrl}${path}`)).text();
  const seen = async (): Promise<readonly Seen[]> =>
    (JSON.parse(await text('/workflows')) as { readonly executions: readonly Seen[] }).executions;

  test('are on the management port, newest first, without a word of what was sent', async () => {
    const session = await openSession(running.url);
    await session.call('fine', { secret: 'a secret parameter' });
    await session.call('bad');
    const { state } = askedIn(await sendModern(running.url, { name: 'asks', args: {} }));
    const [asks, bad, fine] = await seen();
    const stepsOf = (of: Seen | undefined) => of?.steps.map(({ id, type, state: at }) => `${id} ${type} ${at}`);
    assert.deepEqual([fine?.workflow, fine?.state, stepsOf(fine)], ['fine', 'completed', ['x tool completed']]);
    assert.deepEqual(
      [bad?.state, bad?.error, stepsOf(bad)],
      ['failed', 'workflow_failed', ['x tool failed', 'y forEach cancelled']],
    );
    assert.deepEqual([asks?.state, stepsOf(asks)], ['waiting', ['skipped tool skipped', 'ask elicitation waiting']]);
    assert.equal(typeof fine?.durationMs, 'number');
    assert.doesNotMatch(await text('/workflows'), /secret/);

    await sendModern(running.url, {
      name: 'asks',
      args: {},
      state,
      answers: { ask: { action: 'accept', content: {} } },
    });
    const again = await seen();
    assert.equal(again.length, 3, 'it is the same execution');
    assert.deepEqual(stepsOf(again[0]), ['skipped tool skipped', 'ask elicitation completed']);
    assert.equal(again[0]?.state, 'completed');
  });

  test('wait where their user is asked within the call (2025-11-25)', async () => {
    const states: string[] = [];
    const call = await legacyCaller(running.url);
    await call('asks', {}, async () => {
      states.push(...((await seen())[0]?.steps ?? []).map(({ id, state }) => `${id} ${state}`));
      return { action: 'accept', content: {} };
    });
    assert.deepEqual(states, ['skipped skipped', 'ask waiting']);
    assert.deepEqual((await seen())[0]?.steps.at(-1)?.state, 'completed');
  });

  test('and their steps are measured', async () => {
    const session = await openSession(running.url);
    await session.call('fine', { secret: 'x' });
    await session.call('bad');
    await sendModern(running.url, { name: 'asks', args: {} });
    const metrics = await text('/metrics');
    for (const series of [
      'vmcp_workflow_duration_seconds_count{vmcp_workflow_name="fine",vmcp_workflow_outcome="completed"} 1',
      'vmcp_workflow_duration_seconds_count{vmcp_workflow_name="bad",vmcp_workflow_outcome="failed"} 1',
      'vmcp_workflow_duration_seconds_count{vmcp_workflow_name="asks",vmcp_workflow_outcome="waiting"} 1',
      'vmcp_workflow_step_duration_seconds_count{vmcp_workflow_step_type="tool",vmcp_workflow_step_status="completed"} 1',
      'vmcp_workflow_step_duration_seconds_count{vmcp_workflow_step_type="tool",vmcp_workflow_step_status="failed"} 1',
      'vmcp_workflow_step_duration_seconds_count{vmcp_workflow_step_type="tool",vmcp_workflow_step_status="skipped"} 1',
    ])
      assert.ok(
        metrics.includes(series),
        `${series}\n${metrics
          .split('\n')
          .filter((line) => line.includes('workflow'))
          .join('\n')}`,
      );
  });

  test('are for the operator alone', async () => {
    const answer = await fetch(`${running.managementUrl}/workflows`, {
      headers: { origin: 'https://elsewhere.example' },
    });
    assert.equal(answer.status, 403);
  });
});
