import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withOurTaskIds } from '../../../../runtime/backends/stateless/task-results.ts';
import type { Call } from '../../../../runtime/call/call.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { taskIdOf } from '../../../../runtime/call/task-id.ts';
import { silentClient } from '../../../fixtures/silent-client.ts';

const TASKS = '{"extensions":{"io.modelcontextprotocol/tasks":{}}}';

const ours = (ownId: string): string => taskIdOf({ backend: 'a', ownId }) ?? '';

/** What a response becomes, given and returned as text. */
const relayed = (
  response: string,
  method: Call['method'],
  { capabilities = TASKS }: { capabilities?: string } = {},
): string => {
  const client = silentClient({ era: 'modern', capabilities: Buffer.from(capabilities) });
  const names = method.startsWith('tasks/') ? ('task' as const) : ('tool' as const);
  return withOurTaskIds(Buffer.from(response), { method, names, client }, 'a').toString();
};

describe('the answer to a call', () => {
  test('that is a task has our id, and every other byte as it was', () => {
    const of = (id: string): string =>
      `{ "id":1,"result" : {"x":[1.0,{"taskId":"1"}], "taskId" : "${id}" ,"ttlMs":60000.0,"resultType":"task"} }`;
    assert.equal(relayed(of('1'), 'tools/call'), of(ours('1')));
  });

  test('names the task by what its id means, however it is spelt', () => {
    const answer = relayed('{"id":1,"result":{"resultType":"t\\u0061sk","task\\u0049d":"\\u0031"}}', 'tools/call');
    assert.match(answer, new RegExp(`"task.u0049d":"${ours('1')}"`));
  });

  for (const [what, response, method, capabilities] of [
    ['of another kind', '{"id":1,"result":{"resultType":"complete","taskId":"1"}}', 'tools/call', TASKS],
    ['that is an error', '{"id":1,"error":{"code":1,"message":"m","data":{"taskId":"1"}}}', 'tasks/get', TASKS],
    ['of a client without tasks', '{"id":1,"result":{"resultType":"task","taskId":"1"}}', 'tools/call', '{}'],
    ['to what is no tool', '{"id":1,"result":{"resultType":"task","taskId":"1"}}', 'prompts/get', TASKS],
    ['that only acknowledges', '{"id":1,"result":{"resultType":"complete"}}', 'tasks/cancel', TASKS],
  ] as const)
    test(`${what} is not touched`, () => assert.equal(relayed(response, method, { capabilities }), response));

  for (const [what, id] of [
    ['without an id', '"x":1'],
    ['that names it twice', `"taskId":"${taskIdOf({ backend: 'b', ownId: '7' })}","task\\u0049d":"1"`],
    ['whose id is no text', '"taskId":1'],
    ['whose id is too long', `"taskId":"${'x'.repeat(2_000)}"`],
  ] as const)
    test(`that is a task ${what} is refused`, () => {
      const answer = () => relayed(`{"id":1,"result":{"resultType":"task",${id}}}`, 'tools/call');
      assert.throws(answer, (error) => error instanceof VmcpError && error.code === 'backend_unavailable');
    });
});

describe('what has become of a task', () => {
  test('is returned under our id, and the result inside is not touched', () => {
    const of = (id: string): string =>
      `{"id":1,"result":{"resultType":"complete","taskId":"${id}","status":"completed","result":{"taskId":"1","n":1.0}}}`;
    assert.equal(relayed(of('1'), 'tasks/get'), of(ours('1')));
  });
});
