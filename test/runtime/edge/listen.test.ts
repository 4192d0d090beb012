import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const TAG = { 'io.modelcontextprotocol/subscriptionId': 'sub' };
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'subscriptions/listen',
};
const request = (notifications: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params: { _meta: META, notifications } });

interface Told {
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
}

/** A client that listens, and is told one message after another; undefined once the stream has ended. */
const listen = async (url: string, notifications: unknown) => {
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body: request(notifications) });
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Told | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (event.startsWith('data: ')) return JSON.parse(event.slice(6)) as Told;
        continue;
      }
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return undefined;
      text += value;
    }
  };
  return { next, close: () => reader?.cancel() };
};

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
  await post(
    running.url,
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } },
    { ...HEADERS, 'mcp-method': 'tools/list' },
  );
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
    await backend.received(({ http, headers: of }) => http === 'GET' && of['mcp-session-id'] === session);
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
      const answer: RawAnswer = await post(running.url, request(notifications), HEADERS);
      assert.equal(answer.status, 400);
      assert.equal((answer.json as { error: { code: number } }).error.code, -32602);
    });
});
