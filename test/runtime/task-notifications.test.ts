import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { taskIdOf } from '../../runtime/call/task-id.ts';
import { answerError, answerJson, type Behaviour, type Exchange, startBackend } from '../fixtures/backend.ts';
import { acknowledge, listen, LISTEN_HEADERS, listenRequest, openEventStream } from '../fixtures/listening.ts';
import { openSession, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const TAKES_TASKS = { sampling: {}, extensions: { [TASKS]: {} } };
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

type TaskBackend = Awaited<ReturnType<typeof startTaskBackend>>;

/** A backend that tells of the tasks `known`, and of no others. */
const startTaskBackend = async (known: readonly string[]) => {
  const listening: ServerResponse[] = [];
  const write = (response: ServerResponse, message: string): void => void response.write(`data: ${message}\n\n`);
  const tellNow = (response: ServerResponse, params: string): void =>
    write(response, `{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`);
  /** Written together with what says which tasks will be told of. */
  let atOnce: string | undefined;
  const on = ({ recorded: { method, params }, response }: Exchange): Behaviour => {
    if (method === 'server/discover')
      return answerJson('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}');
    if (method === 'tools/list') return answerJson('{"resultType":"complete","tools":[]}');
    if (method !== 'subscriptions/listen') return answerError('{"code":-32601,"message":"no"}');
    const { taskIds } = params['notifications'] as { taskIds: readonly string[] };
    return (exchange) => {
      openEventStream(exchange);
      acknowledge(response, { taskIds: [...taskIds.filter((id) => known.includes(id)), 'nobody asked for'] });
      if (atOnce !== undefined) tellNow(response, atOnce);
      listening.push(response);
    };
  };
  const backend = await startBackend({ on });
  return {
    ...backend,
    listening,
    tell: (params: string) => listening.forEach((response) => tellNow(response, params)),
    tellAtOnce: (params: string) => {
      atOnce = params;
    },
  };
};

let backends: Readonly<Record<'a' | 'b', TaskBackend>>;
let running: Running;

beforeEach(async () => {
  const [a, b] = await Promise.all([startTaskBackend(['1']), startTaskBackend(['1', '2'])]);
  backends = { a, b };
  running = await startRuntime(configFile({ a: a.url, b: b.url }));
  await (await openSession(running.url)).toolNames();
});
afterEach(async () => {
  await running.stop();
  await Promise.all(Object.values(backends).map((backend) => backend.close()));
});

const ours = (backend: string, ownId: string): string => taskIdOf({ backend, ownId }) ?? '';

describe('a client that listens for what becomes of tasks', () => {
  test('is acknowledged first for the tasks that their backends agree to', async () => {
    const taskIds = [ours('b', '2'), ours('a', '1'), ours('a', '2'), ours('c', '1'), 'x', ours('b', '1')];
    const stream = await listen(running.url, { taskIds }, TAKES_TASKS);
    assert.deepEqual((await stream.next())?.params, {
      notifications: { taskIds: [ours('b', '2'), ours('a', '1'), ours('b', '1')] },
      _meta: { [SUBSCRIPTION]: 'sub' },
    });
    const asked = await backends.b.received(({ method }) => method === 'subscriptions/listen');
    assert.deepEqual(asked.params['notifications'], { taskIds: ['2', '1'] });
    const meta = asked.params['_meta'] as Record<string, unknown>;
    assert.deepEqual(meta['io.modelcontextprotocol/clientCapabilities'], TAKES_TASKS);
    await stream.close();
  });

  test('gets each under the id that it knows, on its own stream, and of no others', async () => {
    const stream = await listen(running.url, { taskIds: [ours('a', '1'), ours('b', '1')] }, TAKES_TASKS);
    await stream.next();
    backends.b.tell('{"taskId":"2","status":"working"}');
    backends.b.tell('{"status":"working"}');
    backends.b.tell(
      `{"taskId":"1","status":"completed","result":{"taskId":"1"},"_meta":{"${SUBSCRIPTION}":"theirs","x":1}}`,
    );
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: {
        taskId: ours('b', '1'),
        status: 'completed',
        result: { taskId: '1' },
        _meta: { [SUBSCRIPTION]: 'sub', x: 1 },
      },
    });
    backends.a.tell('{"taskId":"1","status":"working"}');
    const { taskId, _meta } = (await stream.next())?.params ?? {};
    assert.deepEqual([taskId, _meta], [ours('a', '1'), { [SUBSCRIPTION]: 'sub' }]);
    await stream.close();
  });

  test('misses no notification that comes at once', async () => {
    backends.a.tellAtOnce('{"taskId":"1","status":"working"}');
    const stream = await listen(running.url, { taskIds: [ours('a', '1')] }, TAKES_TASKS);
    assert.equal((await stream.next())?.method, 'notifications/subscriptions/acknowledged');
    assert.equal((await stream.next())?.params?.['taskId'], ours('a', '1'));
    await stream.close();
  });

  test('listens no more at the backends once it has gone', async () => {
    const stream = await listen(running.url, { taskIds: [ours('a', '1')] }, TAKES_TASKS);
    await stream.next();
    const [at] = backends.a.listening;
    assert.ok(at);
    const closed = new Promise<void>((resolve) => at.on('close', resolve));
    await stream.close();
    await closed;
  });

  for (const [what, end] of [
    ['a backend ends what it tells', () => backends.a.listening.forEach((response) => response.end())],
    ['a backend is no longer served', () => running.reload(configFile({ b: backends.b.url }))],
  ] as const)
    test(`gets the end of the stream when ${what}, since it might miss something`, async () => {
      const stream = await listen(running.url, { taskIds: [ours('a', '1')] }, TAKES_TASKS);
      await stream.next();
      end();
      const last = await stream.next();
      assert.equal((last?.result as Record<string, unknown> | undefined)?.['resultType'], 'complete');
      assert.equal(await stream.next(), undefined);
    });

  test('gets none when none of them is known', async () => {
    const stream = await listen(running.url, { toolsListChanged: true, taskIds: ['x'] }, TAKES_TASKS);
    const { notifications } = (await stream.next())?.params ?? {};
    assert.deepEqual(notifications, { toolsListChanged: true, taskIds: [] });
    await stream.close();
  });

  test('is refused when it has not declared the extension', async () => {
    const { status, json } = await post(running.url, listenRequest({ taskIds: [] }), LISTEN_HEADERS);
    const { code, data } = (json as { error: { code: number; data: Record<string, unknown> } }).error;
    assert.deepEqual([status, code], [400, -32_021]);
    assert.deepEqual(data['requiredCapabilities'], { extensions: { [TASKS]: {} } });
  });
});
