import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Listeners } from '../../../runtime/edge/index.ts';
import { readEnvelope } from '../../../runtime/edge/envelope.ts';
import type { Running } from '../../../runtime/start.ts';
import { type Behaviour, type FixtureBackend, hang, startBackend } from '../../fixtures/backend.ts';
import { fakeStream } from '../../fixtures/fake-stream.ts';
import { listen, LISTEN_HEADERS, listenRequest } from '../../fixtures/listening.ts';
import { openSession, post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const TAG = { 'io.modelcontextprotocol/subscriptionId': 'sub' };

const options = (tools: readonly string[]) => ({
  tools,
  hasStream: true,
  capabilities: { tools: { listChanged: true } },
  lists: { prompts: ['{"name":"hi"}'], resources: ['{"uri":"a://1","name":"1"}'] },
});

let backend: FixtureBackend;
let running: Running;
beforeEach(async () => {
  backend = await startBackend(options(['echo']));
  running = await startRuntime(configFile({ a: backend.url }));
  await (await openSession(running.url)).toolNames();
});
afterEach(async () => {
  await running.stop();
  await backend.close();
});

describe('a client of 2026-07-28 that listens', () => {
  test('is told first what it will hear of', async () => {
    const stream = await listen(running.url, { toolsListChanged: true, resourceSubscriptions: ['a://1', 'a://1'] });
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['a://1'] }, _meta: TAG },
    });
    await stream.close();
  });

  test('hears of changed lists, and of those only that it asked for', async () => {
    const [tools, prompts] = await Promise.all([
      listen(running.url, { toolsListChanged: true }),
      listen(running.url, { promptsListChanged: true }),
    ]);
    await Promise.all([tools.next(), prompts.next()]);
    backend.set(options(['echo', 'new']));
    backend.tell('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: TAG } };
    assert.deepEqual(await tools.next(), changed);
    running.reload(configFile({ b: backend.url }));
    assert.equal((await prompts.next())?.method, 'notifications/prompts/list_changed');
    await Promise.all([tools.close(), prompts.close()]);
  });

  test('hears of updated resources of an older backend, until it goes', async () => {
    const stream = await listen(running.url, { resourceSubscriptions: ['a://1'] });
    await stream.next();
    const { headers } = await backend.received(({ method }) => method === 'resources/subscribe');
    const session = String(headers['mcp-session-id']);
    for (const uri of ['a://2', 'a://1'])
      backend.tell(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`, session);
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: 'a://1', _meta: TAG },
    });
    await stream.close();
    await backend.received(({ http, headers: of }) => http === 'DELETE' && of['mcp-session-id'] === session);
  });

  test('subscribes at an older backend when that has opened the stream which it tells of updates on', async () => {
    const arrived: string[] = [];
    const openSlowly: Behaviour = ({ response }) =>
      void setTimeout(() => {
        arrived.push('opened');
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      }, 100);
    backend.set({
      ...options(['echo']),
      on: ({ recorded: { http, method } }) => {
        if (method === 'resources/subscribe') arrived.push('subscribed');
        return http === 'GET' ? openSlowly : undefined;
      },
    });
    const stream = await listen(running.url, { resourceSubscriptions: ['a://1'] });
    await stream.next();
    assert.deepEqual(arrived, ['opened', 'subscribed']);
    await stream.close();
  });

  test('waits a moment for a stream of an older backend that sends nothing at first, and subscribes all the same', async () => {
    backend.set({ ...options(['echo']), on: ({ recorded: { http } }) => (http === 'GET' ? hang : undefined) });
    const uris = ['a://1'];
    const stream = await listen(running.url, { resourceSubscriptions: uris });
    assert.deepEqual((await stream.next())?.params?.['notifications'], { resourceSubscriptions: uris });
    await stream.close();
  });

  test('is told the end when the server stops', async () => {
    const stream = await listen(running.url, { toolsListChanged: true });
    await stream.next();
    const stopped = running.stop();
    const last = await stream.next();
    assert.equal((last?.result as Record<string, unknown> | undefined)?.['resultType'], 'complete');
    assert.equal(await stream.next(), undefined);
    await stopped;
  });

  for (const notifications of [undefined, 7, { resourceSubscriptions: 'a://1' }, { resourceSubscriptions: [1] }])
    test(`${JSON.stringify(notifications)} is no filter`, async () => {
      const answer: RawAnswer = await post(running.url, listenRequest(notifications), LISTEN_HEADERS);
      assert.equal(answer.status, 400);
      assert.equal((answer.json as { error: { code: number } }).error.code, -32602);
    });
});

test('a stream that has closed makes room for another, and is told nothing', async () => {
  const listeners = new Listeners({
    limit: 1,
    watchResource: async () => undefined,
    watchTasks: async () => [],
    mayWatch: async () => true,
    listenForLists: () => () => {},
    current: (caller) => caller,
  });
  const client = {
    caller: { kind: 'anonymous' },
    capabilities: Buffer.from('{}'),
    serverInfo: '{}',
    address: undefined,
    onGone: () => {},
  } as const;
  const envelope = readEnvelope(Buffer.from(listenRequest({ toolsListChanged: true })));
  const open = () => listeners.open(envelope, Buffer.from('"sub"'), client);
  const first = fakeStream();
  (await open()).open(first.stream);
  await assert.rejects(open(), { code: 'overloaded' });
  const told = first.messages.length;
  first.close();
  const second = fakeStream();
  (await open()).open(second.stream);
  listeners.listsChanged(['tools']);
  assert.equal(first.messages.length, told);
  assert.equal(second.messages.length, 2);
});
