import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { taskIdOf } from '../../../../runtime/call/task-id.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { openGate } from '../../../../runtime/gate/index.ts';
import { listen } from '../../../fixtures/listening.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { eventsIn, startAudited } from './audited.ts';

const URIS = ['a://1', 'a://2'];
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const BACKEND = {
  hasStream: true,
  capabilities: { resources: { subscribe: true } },
  lists: { resources: URIS.map((uri) => `{"uri":"${uri}","name":"${uri}"}`) },
};

/** Forbids the second resource and all tasks, by policies that have names. */
const gate = {
  ...openGate,
  authorize: ({ name, names }: { name: string; names: string }, _target: unknown, record?: { decision: unknown }) => {
    const isAllowed = name === 'a://1';
    const policies = [isAllowed ? 'readers' : names];
    if (record) record.decision = { isAllowed, policies, failed: [], dryRun: [] };
    if (!isAllowed) throw new VmcpError('forbidden', 'forbidden');
  },
};

const startWatched = async (...[t, options = {}]: Parameters<typeof startAudited>) => {
  const audited = await startAudited(t, { backend: BACKEND, ...options }, { features: () => ({ gate }) });
  await (await openSession(audited.url)).request('resources/list');
  return audited;
};

test('every name that is listened for has an event of its own, denied or not, and counts as a decision', async (t) => {
  const { url, running, events } = await startWatched(t);
  const taskIds = [taskIdOf({ backend: 'a', ownId: '1' })];
  const stream = await listen(url, { resourceSubscriptions: URIS, taskIds }, TASKS);
  await stream.next();
  const metrics = await (await fetch(`${running.managementUrl}/metrics`)).text();
  assert.match(metrics, /^vmcp_policy_decisions_total\{vmcp_policy_decision="allow"\} 1$/m);
  assert.match(metrics, /^vmcp_policy_decisions_total\{vmcp_policy_decision="deny"\} 2$/m);
  await stream.close();
  const log = await events();
  const listening = log.find(({ type }) => type === 'mcp_subscriptions_listen') ?? assert.fail();
  const watches = log.filter(
    ({ target }) => target?.['method'] === 'subscriptions/listen' && target['name'] !== undefined,
  );
  assert.deepEqual(
    watches
      .map(({ type, outcome, target, policy, metadata }) => [
        type,
        outcome,
        target?.['name'],
        target?.['type'],
        target?.['backend'],
        (policy as { readonly ids: unknown }).ids,
        metadata.extra['error_code'],
      ])
      .toSorted((one, other) => String(one).localeCompare(String(other))),
    [
      ['mcp_resource_subscribe', 'denied', 'a://2', 'resource', 'a', ['resource'], 'forbidden'],
      ['mcp_resource_subscribe', 'success', 'a://1', 'resource', 'a', ['readers'], undefined],
      ['mcp_task_get', 'denied', taskIds[0], 'task', 'a', ['task'], 'forbidden'],
    ],
  );
  for (const { correlation_id: id, subjects, source } of watches)
    assert.deepEqual([id, subjects, source], [listening.correlation_id, listening.subjects, listening.source]);
  assert.equal(listening.outcome, 'success');
});

test('the acknowledgement waits for these events where auditing blocks', async (t) => {
  const { url, logFile } = await startWatched(t, { extensions: { audit: { mode: 'blocking' } } });
  const stream = await listen(url, { resourceSubscriptions: URIS });
  await stream.next();
  const written = eventsIn(await readFile(logFile, 'utf8'));
  assert.equal(written.filter(({ type }) => type === 'mcp_resource_subscribe').length, 2);
  await stream.close();
});
