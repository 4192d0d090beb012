import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { readTaskId, taskIdOf } from '../../runtime/call/task-id.ts';
import { errorOf, resultOf } from '../fixtures/answers.ts';
import {
  answerError,
  answerJson,
  type Behaviour,
  type Exchange,
  type FixtureBackend,
  startBackend,
} from '../fixtures/backend.ts';
import { openSession, post, type RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const TAKES_TASKS = { elicitation: {}, extensions: { [TASKS]: {} } };
const SEED = '"createdAt":"2026-11-01T00:00:00Z","lastUpdatedAt":"2026-11-01T00:00:00Z","ttlMs":60000.0';

/** A backend whose only task is called "1". */
const tasksOf =
  (name: string) =>
  ({ recorded: { method, params } }: Exchange): Behaviour => {
    if (method === 'server/discover')
      return answerJson(
        `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"${TASKS}":{}}}}`,
      );
    if (method === 'tools/list')
      return answerJson('{"resultType":"complete","tools":[{"name":"job","inputSchema":{"type":"object"}}]}');
    if (method === 'tools/call') return answerJson(`{"resultType":"task","taskId":"1","status":"working",${SEED}}`);
    if (params['taskId'] !== '1') return answerError('{"code":-32602,"message":"no such task"}');
    if (method === 'tasks/get')
      return answerJson(
        `{"resultType":"complete","taskId":"1","status":"completed",${SEED},"result":{"content":[],"of":"${name}","n":1.0}}`,
      );
    return method === 'tasks/update' || method === 'tasks/cancel'
      ? answerJson('{"resultType":"complete"}')
      : answerError('{"code":-32601,"message":"no"}');
  };

let backends: Readonly<Record<'a' | 'b' | 'old', FixtureBackend>>;
let running: Running;

beforeEach(async () => {
  const [a, b, old] = await Promise.all([
    startBackend({ on: tasksOf('a') }),
    startBackend({ on: tasksOf('b') }),
    startBackend({ tools: ['echo'] }),
  ]);
  backends = { a, b, old };
  running = await startRuntime(configFile({ a: a.url, b: b.url, old: old.url }));
  await send('tools/list', {});
});
afterEach(async () => {
  await running.stop();
  await Promise.all(Object.values(backends).map((backend) => backend.close()));
});

const send = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  { capabilities = TAKES_TASKS, headers = {} }: { capabilities?: object; headers?: Record<string, string> } = {},
): Promise<RawAnswer> => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = params['taskId'] ?? params['name'];
  return post(
    running.url,
    { jsonrpc: '2.0', id: 7, method, params: { _meta: meta, ...params } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
  );
};

const begin = async (tool: string): Promise<string> =>
  String(resultOf(await send('tools/call', { name: tool }))['taskId']);

const ours = (backend: string, ownId = '1'): string => taskIdOf({ backend, ownId }) ?? '';

describe('tasks of two backends that both call theirs "1"', () => {
  test('have ids of their own, and each is asked after at its backend', async () => {
    const ids = [await begin('a_job'), await begin('b_job')];
    assert.deepEqual(ids, [ours('a'), ours('b')]);
    for (const [index, name] of ['a', 'b'].entries()) {
      const id = ids[index] ?? '';
      const answer = await send('tasks/get', { taskId: id });
      const { taskId, result } = resultOf(answer);
      assert.deepEqual([taskId, result], [id, { content: [], of: name, n: 1 }]);
      // Spelt as the backend spelt it.
      assert.match(answer.text, /"ttlMs":60000\.0,"result":\{"content":\[\],"of":"[ab]","n":1\.0\}/);
    }
  });

  test('are begun by calls in which the client’s own capabilities reach the backend', async () => {
    await begin('a_job');
    const { params } = await backends.a.received(({ method }) => method === 'tools/call');
    const meta = params['_meta'] as Record<string, unknown>;
    assert.deepEqual(meta['io.modelcontextprotocol/clientCapabilities'], TAKES_TASKS);
  });

  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    test(`${method} reaches the backend under its own id, in body and headers, and is as it was otherwise`, async () => {
      const more = { inputResponses: { name: { action: 'accept', content: { taskId: ours('a') } } } };
      const answer = await send(method, { taskId: ours('b'), ...more });
      assert.equal(resultOf(answer)['resultType'], 'complete');
      const { params, headers } = await backends.b.received((recorded) => recorded.method === method);
      const { _meta: meta, ...rest } = params;
      assert.deepEqual(rest, { taskId: '1', ...more });
      assert.equal((meta as { [key: string]: unknown })['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
      assert.deepEqual([headers['mcp-method'], headers['mcp-name']], [method, '1']);
      assert.equal(backends.a.requests.filter((request) => request.method === method).length, 0);
    });

  test('are found by a replica that has never seen them', async () => {
    const id = await begin('b_job');
    const other = await startRuntime(configFile({ a: backends.a.url, b: backends.b.url }));
    const before = running;
    running = other;
    const { taskId, status } = resultOf(await send('tasks/get', { taskId: id }));
    running = before;
    await other.stop();
    assert.deepEqual([taskId, status], [id, 'completed']);
  });
});

describe('asking after tasks is refused:', () => {
  const rows: readonly (readonly [string, string, number])[] = [
    ['an id that is none', 'whatever', -32_602],
    ['the backend’s own id', '1', -32_602],
    ['of a backend that is not served', ours('c'), -32_602],
    ['of a backend of an earlier revision', ours('old'), -32_602],
    ['that the backend does not know, in its own words', ours('a', '2'), -32_602],
  ];
  for (const [what, taskId, code] of rows)
    test(what, async () => {
      const answer = await send('tasks/get', { taskId });
      assert.deepEqual([answer.status, errorOf(answer).code], [200, code]);
      const isRelayed = readTaskId(taskId)?.backend === 'a';
      assert.equal(errorOf(answer).message, isRelayed ? 'no such task' : 'unknown task');
      const reached = Object.values(backends).flatMap(({ requests }) =>
        requests.filter(({ method }) => method === 'tasks/get'),
      );
      assert.equal(reached.length, isRelayed ? 1 : 0);
    });

  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    test(`${method} by a client that has not declared the extension`, async () => {
      const answer = await send(method, { taskId: ours('a') }, { capabilities: { extensions: {} } });
      assert.deepEqual([answer.status, errorOf(answer).code], [400, -32_021]);
      assert.deepEqual(errorOf(answer).data['requiredCapabilities'], { extensions: { [TASKS]: {} } });
    });

  test('another task in the header than in the body', async () => {
    const answer = await send('tasks/get', { taskId: ours('a') }, { headers: { 'mcp-name': ours('b') } });
    assert.deepEqual([answer.status, errorOf(answer).code], [400, -32_020]);
  });

  for (const [what, params] of [
    ['no id', {}],
    ['an id that is no text', { taskId: 1 }],
  ] as const)
    test(what, async () => {
      const answer = await send('tasks/get', params, { headers: { 'mcp-name': '1' } });
      assert.deepEqual([answer.status, errorOf(answer).code], [200, -32_602]);
    });

  test('an id that a backend might read in another place', async () => {
    const answer = await send('tasks/get', { taskId: ours('a'), TaskID: '2' });
    assert.deepEqual([answer.status, errorOf(answer).code], [400, -32_600]);
  });

  test('methods that the extension has no more', async () => {
    for (const method of ['tasks/list', 'tasks/result']) {
      const answer = await send(method, { taskId: ours('a') });
      assert.deepEqual([answer.status, errorOf(answer).code], [404, -32_601]);
    }
  });

  test('a backend that is down is reported as such', async () => {
    await backends.a.close();
    assert.equal(errorOf(await send('tasks/get', { taskId: ours('a') })).code, 502);
  });
});

describe('a backend that answers with a task', () => {
  test('to a client that takes none has failed', async () => {
    const { isError, content } = resultOf(await send('tools/call', { name: 'a_job' }, { capabilities: {} }));
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /answered with a task/);
  });

  test('to a client of an earlier revision has failed, and that client knows no tasks', async () => {
    const session = await openSession(running.url);
    const { json } = await session.call('a_job');
    assert.equal((json as { result: { isError: boolean } }).result.isError, true);
    assert.equal(errorOf(await session.request('tasks/get', { taskId: ours('a') })).code, -32_601);
  });
});
