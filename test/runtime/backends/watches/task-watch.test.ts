import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { watchTasks } from '../../../../runtime/backends/watches/task-watch.ts';
import type { BackendRequest, BackendResponse } from '../../../../runtime/outgoing/index.ts';
import { taskIdOf } from '../../../../runtime/call/task-id.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const ACKNOWLEDGED =
  '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["1"]}}}';

/** A watch of the task "1" at a backend that the test speaks for. */
const watch = () => {
  const clock = frozenClock();
  const client = new AbortController();
  const served = new AbortController();
  const told: string[] = [];
  let ends = 0;
  let aborts = 0;
  let request: BackendRequest | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<BackendResponse>();
  const watched = watchTasks({
    backend: 'a',
    path: '/mcp',
    clientInfo: '{}',
    capabilities: Buffer.from('{}'),
    ownIds: [Buffer.from('"1"')],
    clock,
    end: served.signal,
    signal: client.signal,
    onTold: (params) => void told.push(params.toString()),
    onEnd: () => {
      ends += 1;
    },
    fetch: (sent) => {
      request = sent;
      sent.idleTimeout.onAbandoned((reason) => {
        aborts += 1;
        reject(reason);
      });
      return promise;
    },
  });
  return {
    clock,
    client,
    served,
    told,
    counts: () => ({ ends, aborts }),
    watched: watched.then((ids) => [...ids]),
    say: (message: string) => request?.onMessage(Buffer.from(message)),
    answer: (body: string) => resolve({ status: 200, headers: {}, body: Buffer.from(body) }),
  };
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const OURS = taskIdOf({ backend: 'a', ownId: '1' }) ?? '';

describe('a backend that is asked to tell of tasks', () => {
  test('and does not say so in time is left', async () => {
    const { clock, watched, say, counts, told } = watch();
    clock.advance(5_000);
    assert.deepEqual(await watched, []);
    say(ACKNOWLEDGED);
    say('{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"1"}}');
    await settled();
    assert.deepEqual([counts(), told], [{ ends: 0, aborts: 1 }, []]);
  });

  test('and has said so may be silent for as long as it likes', async () => {
    const { clock, watched, say, counts } = watch();
    say(ACKNOWLEDGED);
    assert.deepEqual(await watched, [OURS]);
    clock.advance(3_600_000);
    assert.deepEqual(counts(), { ends: 0, aborts: 0 });
  });

  for (const params of [
    '',
    ',"params":null',
    ',"params":[]',
    ',"params":{}',
    ',"params":{"notifications":{"taskIds":"1"}}',
  ])
    test(`and agrees to nothing (${params.slice(1)}) is left`, async () => {
      const { watched, say, counts } = watch();
      say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"${params}}`);
      assert.deepEqual(await watched, []);
      await settled();
      assert.deepEqual(counts(), { ends: 0, aborts: 1 });
    });

  test('and refuses is not told of as an end', async () => {
    const { watched, answer, counts } = watch();
    answer('{"jsonrpc":"2.0","id":"vmcp-tasks","error":{"code":-32601,"message":"no"}}');
    assert.deepEqual(await watched, []);
    assert.deepEqual(counts(), { ends: 0, aborts: 0 });
  });

  test('and ends is told of, once it had agreed', async () => {
    const { watched, say, answer, counts } = watch();
    say(ACKNOWLEDGED);
    await watched;
    answer('{"jsonrpc":"2.0","id":"vmcp-tasks","result":{}}');
    await settled();
    assert.deepEqual(counts(), { ends: 1, aborts: 0 });
  });

  for (const [what, of, ends] of [
    ['its client has gone', 'client', 0],
    ['it is no longer served', 'served', 1],
  ] as const)
    test(`is left when ${what}`, async () => {
      const { watched, say, counts, ...scene } = watch();
      say(ACKNOWLEDGED);
      await watched;
      scene[of].abort();
      await settled();
      assert.deepEqual(counts(), { ends, aborts: 1 });
    });

  test('is left when its client goes before it has said anything', async () => {
    const { watched, client, counts } = watch();
    client.abort();
    assert.deepEqual(await watched, []);
    assert.deepEqual(counts(), { ends: 0, aborts: 1 });
  });
});
