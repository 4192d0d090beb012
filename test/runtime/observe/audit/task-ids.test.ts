import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { taskIdOf } from '../../../../runtime/call/task-id.ts';
import { shownName } from '../../../../runtime/call/workflow-task-id.ts';
import { resultOf } from '../../../fixtures/answers.ts';
import { sendTask } from '../../../fixtures/task-caller.ts';
import { shortly, startAudited } from './audited.ts';

const ask = { id: 'ask', type: 'elicitation', message: 'Sure?' };
const asks = { name: 'asks', steps: [ask] };

test('events tell tasks of workflows apart, and nobody can answer for a client with what they tell', async (t) => {
  const audit = { includeRequestData: true, includeResponseData: true };
  const { url, events, logFile } = await startAudited(t, { audit, more: { compositeTools: [asks] } });
  const begun = await Promise.all([1, 2].map(() => sendTask(url, { tool: 'asks' })));
  const [first = '', second = ''] = begun.map((answer) => String(resultOf(answer)['taskId']));
  for (const task of [first, first, second, `${first}x`]) await sendTask(url, { method: 'tasks/get', task });
  const log = await events();
  const text = await readFile(logFile, 'utf8');
  for (const id of [first, second]) assert.ok(!text.includes(id.split('.')[1] ?? ''), 'no secret of an id is told');
  const names = log.flatMap(({ type, target }) => (type === 'mcp_task_get' ? [target?.['name']] : []));
  const [image = '', again, other] = names;
  assert.match(image, /^workflow\.[0-9a-f]{16}\./);
  assert.equal(again, image);
  assert.notEqual(other, image);
  assert.deepEqual(shortly(log.slice(-1)), [`mcp_task_get failure ${image}x`]);
});

test('other names are shown as they are', () => {
  const ofBackend = taskIdOf({ backend: 'a', ownId: '1' }) ?? assert.fail();
  assert.equal(shownName({ names: 'task', name: ofBackend }), ofBackend);
  assert.equal(shownName({ names: 'tool', name: 'workflow.abc.def' }), 'workflow.abc.def');
});
