import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { stringify } from 'yaml';
import type { Running } from '../../../runtime/start.ts';
import { type BackendOptions, type FixtureBackend, hang, startBackend } from '../../fixtures/backend.ts';
import { type FrozenClock, frozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { planGolden } from '../../operator/plan/golden.ts';
import { covers } from '../../requirements.ts';

const SEARCH =
  '{"name":"search_everything_v2","description":"old","annotations":{"title":"Search","readOnlyHint":false},"inputSchema":{"type":"object","properties":{"limit":{"maximum":1.0e2}}},"x-own":12345678901234567890}';

let a: FixtureBackend;
let b: FixtureBackend;
let clock: FrozenClock;
let running: Running | undefined;

const start = async (tools: BackendOptions, others: BackendOptions = {}) => {
  [a, b] = await Promise.all([startBackend(tools), startBackend(others)]);
};

beforeEach(() => {
  clock = frozenClock();
});
afterEach(async () => {
  await Promise.all([a.close(), b.close()]);
  const stopped = running?.stop();
  clock.advance(60_000);
  await stopped;
});

const filesOf = (aggregation: object) => configFile({ a: a.url, b: b.url }, { aggregation });

const serve = async (files: Parameters<typeof startRuntime>[0]) => {
  running = await startRuntime(files, {}, { clock });
  return openSession(running.url);
};

type Session = Awaited<ReturnType<typeof serve>>;

const listText = async (session: Session): Promise<string> => (await session.request('tools/list')).text;

const reasonOf = async (session: Session, name: string): Promise<string> => {
  const { json } = await session.call(name);
  return (json as { error: { data: { reason: string } } }).error.data.reason;
};

describe('tools/list through the endpoint', () => {
  const aggregation = {
    conflictResolution: 'priority',
    conflictResolutionConfig: { priorityOrder: ['b', 'a'] },
    tools: [
      {
        workload: 'a',
        filter: ['find', 'status'],
        overrides: { search_everything_v2: { name: 'find', description: 'new', annotations: { readOnlyHint: true } } },
      },
    ],
  };

  covers('endpoints.mcp.pipeline', 'aggregation.override.advertising');
  test('shows what overrides, conflict rule and filter make of it, and the bytes of everything else', async () => {
    await start({ tools: [SEARCH, 'status', 'spare'] }, { tools: ['status'] });
    const session = await serve(filesOf(aggregation));
    const find = SEARCH.replace('search_everything_v2', 'find')
      .replace('"old"', '"new"')
      .replace('"readOnlyHint":false', '"readOnlyHint":true');
    const status = (await listText(await directly(b))).replace(/^.*"tools":\[|\]\}\}$/g, '');
    assert.equal((await listText(session)).replace(/^.*"result":/, ''), `{"tools":[${find},${status}]}}`);
  });

  covers('aggregation.override.routing');
  test('a call of a renamed tool reaches its backend under the name that the backend knows', async () => {
    await start({ tools: [SEARCH] });
    const session = await serve(filesOf(aggregation));
    await session.toolNames();
    assert.match((await session.call('find', { limit: 1 })).text, /search_everything_v2/);
    assert.equal(a.requests.at(-1)?.params['name'], 'search_everything_v2');
    assert.equal(await reasonOf(session, 'search_everything_v2'), 'unknown_name');
  });

  covers('aggregation.conflict.priority.first-wins');
  test('a contested name is called at its winner; the loser and hidden tools are unknown', async () => {
    await start({ tools: ['status', 'spare'] }, { tools: ['status'] });
    const session = await serve(filesOf(aggregation));
    await session.toolNames();
    await session.call('status');
    assert.deepEqual(
      [a, b].map(({ requests }) => requests.filter(({ method }) => method === 'tools/call').length),
      [0, 1],
    );
    assert.equal(await reasonOf(session, 'spare'), 'unknown_name');
  });

  test('a change of the configuration is served at once, and the status tells what has no effect', async () => {
    await start({ tools: ['t'] }, { tools: ['t'] });
    const session = await serve(
      filesOf({ conflictResolution: 'manual', tools: [{ workload: 'a', filter: ['t', 'gone'] }] }),
    );
    assert.deepEqual(await session.toolNames(), []);
    assert.deepEqual(running?.status().unresolved, [{ name: 't', backends: ['a', 'b'] }]);
    assert.deepEqual(running?.status().unmatched, [{ workload: 'a', setting: 'filter', tool: 'gone' }]);
    running?.reload(
      filesOf({ conflictResolution: 'manual', tools: [{ workload: 'a', overrides: { t: { name: 'u' } } }] }),
    );
    assert.deepEqual(await session.toolNames(), ['t', 'u']);
    assert.equal(running?.status().unresolved, undefined);
    assert.equal(running?.status().toolCount, 2);
  });
});

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  for (let attempt = 0; attempt < 500 && !(await holds()); attempt += 1)
    await new Promise((resolve) => setImmediate(resolve));
};

/** The backend itself, without us before it. */
const directly = (backend: FixtureBackend) => openSession(backend.url);

describe('while one backend is slow', () => {
  const many = Array.from({ length: 2_500 }, (_, index) => `t${String(index).padStart(4, '0')}`);

  test('the lists of all are served as they were last known, with every page', async () => {
    await start({ tools: many, pageSize: 400 }, { tools: ['t'] });
    const session = await serve(filesOf({}));
    const before = await session.toolNames();
    assert.equal(before.length, 2_501);
    a.set({
      tools: many,
      pageSize: 400,
      on: ({ recorded }) => (recorded.params['cursor'] === '1200' ? hang : undefined),
    });
    b.set({ tools: ['t', 'u'] });
    for (const backend of [a, b]) {
      const pings = backend.requests.filter(({ method }) => method === 'ping').length;
      clock.advance(30_000);
      await backend.received(() => backend.requests.filter(({ method }) => method === 'ping').length > pings);
      await until(() => Promise.resolve(clock.pending().length === 2));
    }
    await a.received(({ params, method }) => method === 'tools/list' && params['cursor'] === '1200');
    await until(async () => (await session.toolNames()).length > before.length);
    assert.deepEqual(await session.toolNames(), [...before, 'b_u']);
  });

  test('or has just come, and answers nothing, the others’ lists wait for nothing', async () => {
    await start({ tools: ['t'] }, { on: () => hang });
    const only = { operational: { failureHandling: { partialFailureMode: 'best_effort' } } };
    const session = await serve(configFile({ a: a.url }, only));
    assert.deepEqual(await session.toolNames(), ['a_t']);
    running?.reload(configFile({ a: a.url, b: b.url }, only));
    await b.received(({ method }) => method === 'server/discover');
    assert.deepEqual(await session.toolNames(), ['a_t'], 'with the clock standing still');
  });
});

describe('from the resources of a cluster', () => {
  const manifests = (...objects: readonly object[]): string =>
    objects.map((object) => stringify({ apiVersion: 'vmcp.dev/v1beta1', ...object })).join('---\n');
  const settings = () => ({
    apiVersion: 'test',
    kind: 'Settings',
    metadata: { name: 'local' },
    settings: { local: { backends: { a: a.url, b: b.url }, ports: { demo: 4493 } } },
  });
  const server = (config?: object) => ({
    kind: 'VirtualMCPServer',
    metadata: { name: 'demo', uid: 'u1' },
    spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...(config && { config }) },
  });
  const group = (name: string) => ({ kind: 'MCPGroup', metadata: { name } });
  const entry = (name: string, groupName: string) => ({
    kind: 'MCPServerEntry',
    metadata: { name },
    spec: { groupRef: { name: groupName }, remoteUrl: `http://${name}/mcp`, transport: 'streamable-http' },
  });
  const planned = (...objects: readonly object[]) => {
    const all = planGolden(manifests(settings(), ...objects));
    const { plan } = all.find(({ object }) => object.kind === 'VirtualMCPServer') ?? {};
    const files = Object.entries(plan?.config ?? {}).map(([name, text]) => ({ name, text }));
    return { files, status: plan?.status };
  };

  covers('crd.vmcp.minimal-valid', 'aggregation.members.only-group', 'aggregation.members.defined-by-group');
  test('the members of the group are served, and no other server', async () => {
    await start({ tools: ['t'] }, { tools: ['t'] });
    const { files, status } = planned(
      server(),
      group('tools'),
      group('other'),
      entry('a', 'tools'),
      entry('b', 'other'),
    );
    const session = await serve(files);
    assert.deepEqual(await session.toolNames(), ['a_t']);
    assert.equal(await reasonOf(session, 'b_t'), 'unknown_name');
    const discovered = (status?.['discoveredBackends'] ?? []) as readonly { readonly name: string }[];
    assert.deepEqual(
      discovered.map(({ name }) => name),
      ['a'],
    );
  });

  covers(
    'aggregation.tool-config-ref.applied',
    'aggregation.filter.ignored-with-tool-config-ref',
    'aggregation.override.ignored-with-tool-config-ref',
  );
  test('an MCPToolConfig says which tools are listed and how, and not what stands beside the reference', async () => {
    await start({ tools: ['search', 'fetch', 'spare'] });
    const shared = {
      kind: 'MCPToolConfig',
      metadata: { name: 'shared' },
      spec: {
        toolsFilter: ['find', 'fetch'],
        toolsOverride: { search: { name: 'find', description: 'Finds things' } },
      },
    };
    const tools = [
      {
        workload: 'a',
        filter: ['spare'],
        overrides: { fetch: { name: 'renamed' } },
        toolConfigRef: { name: 'shared' },
      },
    ];
    const { files } = planned(server({ aggregation: { tools } }), group('tools'), entry('a', 'tools'), shared);
    const session = await serve(files);
    assert.deepEqual(await session.toolNames(), ['a_fetch', 'a_find']);
    assert.match(await listText(session), /"a_find","description":"Finds things"/);
  });
});
