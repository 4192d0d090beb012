import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openGate } from '../../runtime/gate/index.ts';
import type { Running } from '../../runtime/start.ts';
import { taskIdOf } from '../../runtime/call/task-id.ts';
import { until } from '../cluster/until.ts';
import { errorOf } from '../fixtures/answers.ts';
import { answerError, answerJson, type Exchange, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { denyingGate } from '../fixtures/gates.ts';
import { listen } from '../fixtures/listening.ts';
import { openSse } from '../fixtures/old-client.ts';
import { openSession, post, type RawAnswer } from '../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../fixtures/redis.ts';
import { openShared, sharedConfig, startReplica } from '../fixtures/replicas.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { type SseBridge, startSseBridge } from '../fixtures/sse-bridge.ts';

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const CAPABILITIES = '{"tools":{},"prompts":{},"resources":{"subscribe":true}}';
const LISTS = {
  'tools/list': '"tools":[{"name":"t","inputSchema":{"type":"object"}}]',
  'prompts/list': '"prompts":[{"name":"p"}]',
  'resources/list': '"resources":[{"uri":"modern://1","name":"1"}]',
  'resources/templates/list': '"resourceTemplates":[]',
} as const;

/** A backend of 2026-07-28. */
const modern = ({ recorded: { method = '' } }: Exchange) => {
  if (method === 'server/discover')
    return answerJson(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":${CAPABILITIES}}`);
  if (method in LISTS) return answerJson(`{"resultType":"complete",${LISTS[method as keyof typeof LISTS]}}`);
  return answerError('{"code":-32601,"message":"no"}');
};

const legacy = {
  tools: ['t'],
  lists: { prompts: ['{"name":"p"}'], resources: ['{"uri":"legacy://1","name":"1"}'] },
  capabilities: { prompts: {}, resources: { subscribe: true } },
};

/** What a gateway asks for itself. */
const OWN: ReadonlySet<string> = new Set([
  'server/discover',
  'initialize',
  'notifications/initialized',
  'ping',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** One request for everything that leads to a backend: a name of each kind, at each backend. */
const requestsOf = (backend: string) => [
  { method: 'tools/call', params: { name: `${backend}_t`, arguments: {} } },
  { method: 'prompts/get', params: { name: `${backend}_p` } },
  { method: 'resources/read', params: { uri: `${backend}://1` } },
  { method: 'completion/complete', params: completion({ type: 'ref/prompt', name: `${backend}_p` }) },
  { method: 'completion/complete', params: completion({ type: 'ref/resource', uri: `${backend}://1` }) },
];

const completion = (ref: object) => ({ ref, argument: { name: 'a', value: '' } });

const subscriptionsTo = (backend: string) =>
  ['resources/subscribe', 'resources/unsubscribe'].map((method) => ({ method, params: { uri: `${backend}://1` } }));

const tasksOf = (backend: string) => {
  const taskId = taskIdOf({ backend, ownId: '1' });
  return ['tasks/get', 'tasks/update', 'tasks/cancel'].map((method) => ({ method, params: { taskId } }));
};

describe('a policy that denies everything', () => {
  let backends: Readonly<Record<'legacy' | 'sse' | 'modern', FixtureBackend>>;
  let bridge: SseBridge;
  let running: Running;
  let before: number;

  beforeEach(async () => {
    backends = {
      legacy: await startBackend(legacy),
      sse: await startBackend({ ...legacy, lists: { ...legacy.lists, resources: ['{"uri":"sse://1","name":"1"}'] } }),
      modern: await startBackend({ on: modern }),
    };
    bridge = await startSseBridge(backends.sse.url);
    const urls = { legacy: backends.legacy.url, modern: backends.modern.url, sse: bridge.url };
    const entries = Object.entries(urls).map(([name, url]) => ({
      name,
      url,
      transport: name === 'sse' ? 'sse' : 'streamable-http',
    }));
    const files = configFile(
      {},
      { backends: entries, operational: { failureHandling: { healthCheckInterval: '1h' } } },
    );
    running = await startRuntime(files, {}, { features: () => ({ gate: denyingGate }) });
    const session = await openSession(running.url);
    assert.deepEqual((await session.toolNames()).toSorted(), ['legacy_t', 'modern_t', 'sse_t']);
    before = handshakes();
  });
  afterEach(async () => {
    await running.stop();
    await bridge.close();
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
  });

  const all = () => Object.values(backends).flatMap(({ requests }) => requests);
  const handshakes = (): number => all().filter(({ method }) => method === 'initialize').length;

  /** Nothing was asked but what the gateway asks for itself, nor was a session opened for anybody. */
  const nothingCame = (): void => {
    const foreign = all().filter(({ method, http }) => http === 'POST' && !OWN.has(method ?? ''));
    assert.deepEqual(
      foreign.map(({ body }) => body),
      [],
    );
    assert.equal(handshakes(), before);
  };

  const isForbidden = (answer: RawAnswer, method: string): void => {
    const { code, data } = errorOf(answer);
    assert.deepEqual([answer.status, code, data.reason], [200, 403, 'forbidden'], method);
  };

  test('lets no request of a client with a session through', async () => {
    const session = await openSession(running.url);
    for (const backend of Object.keys(backends))
      for (const { method, params } of [...requestsOf(backend), ...subscriptionsTo(backend)])
        isForbidden(await session.request(method, params), method);
    nothingCame();
  });

  test('lets no request of a client of HTTP+SSE through', async () => {
    const client = await openSse(running.url);
    const send = (id: number, method: string, params: object) =>
      post(client.address, { jsonrpc: '2.0', id, method, params });
    await send(0, 'initialize', { protocolVersion: '2024-11-05', capabilities: {} });
    await client.heard('"id":0,');
    let id = 0;
    for (const backend of Object.keys(backends))
      for (const { method, params } of [...requestsOf(backend), ...subscriptionsTo(backend)]) {
        id += 1;
        assert.equal((await send(id, method, params)).status, 202);
        await client.heard(`"id":${id},"error":{"code":403`);
      }
    nothingCame();
    client.close();
  });

  test('lets no request of a client of 2026-07-28 through', async () => {
    for (const backend of Object.keys(backends))
      for (const { method, params } of [...requestsOf(backend), ...tasksOf(backend)]) {
        const named = params as Readonly<Record<string, unknown>>;
        const name = method === 'completion/complete' ? undefined : (named['name'] ?? named['uri'] ?? named['taskId']);
        const meta = {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': TASKS,
        };
        const answer = await post(
          running.url,
          { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
          {
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': method,
            ...(typeof name === 'string' && { 'mcp-name': name }),
          },
        );
        isForbidden(answer, method);
      }
    nothingCame();
  });

  test('lets no client watch resources or tasks: they are not acknowledged', async () => {
    const resourceSubscriptions = Object.keys(backends).map((backend) => `${backend}://1`);
    const taskIds = Object.keys(backends).map((backend) => taskIdOf({ backend, ownId: '1' }));
    const stream = await listen(running.url, { resourceSubscriptions, taskIds }, TASKS);
    const told = await stream.next();
    assert.deepEqual(told?.params?.['notifications'], { resourceSubscriptions: [], taskIds: [] });
    nothingCame();
    await stream.close();
  });
});

test(
  'a subscription that policy no longer allows is not taken over by another replica',
  { skip: noRedis },
  async (t) => {
    const redis = await startRedis();
    const backend = await startBackend({ on: modern });
    const files = sharedConfig(redis.address, { modern: backend.url });
    const one = await startReplica(files, {}, { features: () => ({ gate: openGate }) });
    const two = await startReplica(files, {}, { features: () => ({ gate: denyingGate }) });
    t.after(async () => {
      await Promise.all([one.stop(), two.stop()]);
      await backend.close();
      await redis.stop();
    });
    const watching = () => backend.requests.filter(({ body }) => body.includes('resourceSubscriptions'));
    const session = await openShared(one.url);
    await session.send(one.url, { id: 1, method: 'resources/list' });
    const first = await session.listen(one.url);
    await session.send(one.url, { id: 2, method: 'resources/subscribe', params: { uri: 'modern://1' } });
    await until('the first replica watches', async () => (watching().length > 0 ? true : undefined), { intervalMs: 5 });
    first.close();
    const before = watching().length;
    const second = await session.listen(two.url);
    await session.send(two.url, { id: 3, method: 'logging/setLevel', params: { level: 'error' } });
    assert.equal(watching().length, before);
    second.close();
  },
);
