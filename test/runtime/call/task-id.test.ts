import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readTaskId, taskIdOf } from '../../../runtime/call/task-id.ts';
import { readWorkflowTaskId, workflowTaskId } from '../../../runtime/call/workflow-task-id.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

describe('the id of a task', () => {
  for (const [what, ownId] of [
    ['of a plain name', '786512e2-9e0d-44bd-8f29-789f320fe840'],
    ['that is empty', ''],
    ['that looks like one of ours', taskIdOf({ backend: 'b', ownId: '1' }) ?? ''],
    ['with marks of every kind', 'a/b?c="d",[\\\n]'],
    ['beyond ASCII', 'größe 作業 🙂'],
    ['that is no proper Unicode', 'x\ud800y'],
  ] as const)
    test(`${what} is read from it again`, () => {
      const id = taskIdOf({ backend: 'github', ownId }) ?? '';
      assert.match(id, /^[\w-]+$/);
      assert.deepEqual(readTaskId(id), { backend: 'github', ownId });
    });

  test('differs where backends give the same', () => {
    assert.notEqual(taskIdOf({ backend: 'a', ownId: '1' }), taskIdOf({ backend: 'b', ownId: '1' }));
    assert.notEqual(taskIdOf({ backend: 'a', ownId: 'b1' }), taskIdOf({ backend: 'ab', ownId: '1' }));
  });

  test('is bounded', () => {
    assert.equal(taskIdOf({ backend: 'a', ownId: 'x'.repeat(1_500) })?.length, 2_011);
    assert.equal(taskIdOf({ backend: 'a', ownId: 'x'.repeat(1_600) }), undefined);
    assert.equal(readTaskId(encoded(JSON.stringify(['a', 'x'.repeat(1_600)]))), undefined);
  });
});

describe('not the id of a task:', () => {
  const id = taskIdOf({ backend: 'a', ownId: '12' }) ?? '';
  const rows: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['any text', 'tasks-conformance-nonexistent-12345'],
    ['no list', encoded('{"backend":"a","ownId":"1"}')],
    ['a list of one', encoded('["a"]')],
    ['a list of three', encoded('["a","1","2"]')],
    ['a number', encoded('["a",1]')],
    ['no name', encoded('[null,"1"]')],
    ['another spelling of the same JSON', encoded('["a", "12"]')],
    ['an escape that is not needed', encoded('["a","\\u0031"]')],
    ['padding', `${id}=`],
    ['white space', ` ${id}`],
    ['more behind it', `${id}AA`],
    ['the other alphabet of Base64', Buffer.from('["a","??>"]').toString('base64')],
  ];
  for (const [what, text] of rows) test(what, () => assert.equal(readTaskId(text), undefined));
});

describe('the id of a task of a workflow', () => {
  const name = { workflow: 'deploy', secret: 'A'.repeat(32) };
  const id = workflowTaskId(name);

  test('names the workflow, and is none of a backend', () => {
    assert.deepEqual(readWorkflowTaskId(id), name);
    assert.equal(readTaskId(id), undefined);
  });

  for (const other of [
    `${id}=`,
    `x${id}`,
    id.slice(0, -1),
    id.replace('A.', '.'),
    `workflow.${'A'.repeat(32)}.`,
    'workflow..',
  ])
    test(`is not "${other.slice(0, 60)}"`, () => {
      assert.notDeepEqual(readWorkflowTaskId(other), name);
    });
});
