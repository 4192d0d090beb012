import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualMcpServer } from '../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import { BackendBudget, MAX_BACKENDS, MAX_NAMESPACE_BACKENDS } from '../../../operator/read/backend-budget.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS } from '../plan/golden.ts';
import { made } from '../plan/made.ts';

const kind = virtualMcpServer();

/** As the cache hands them out: always the same list. */
const sourceOf = (objects: readonly KubeObject[]): ReturnType<typeof objectsSource> => {
  const source = objectsSource(objects);
  const lists = new Map<string, readonly KubeObject[]>();
  return {
    ...source,
    list: (of, namespace) => {
      const known = lists.get(of) ?? source.list(of, namespace);
      lists.set(of, known);
      return known;
    },
  };
};

const members = (group: string, count: number): readonly KubeObject[] =>
  Array.from({ length: count }, (_, index) => {
    const spec = { groupRef: { name: group }, remoteUrl: `https://${index}.example.com/mcp`, transport: 'sse' };
    return made('MCPServerEntry', `${group}-${index}`, spec);
  });

const serving = (name: string, group: string, age: number): KubeObject => {
  const server = made('VirtualMCPServer', name, { groupRef: { name: group }, incomingAuth: { type: 'anonymous' } });
  const creationTimestamp = `2026-01-01T00:00:${String(age).padStart(2, '0')}Z`;
  return { ...server, metadata: { ...server.metadata, creationTimestamp, uid: name, generation: 1 } };
};

const statusOf = (server: KubeObject, objects: readonly KubeObject[]) => {
  const bundle = kind.resolve(sourceOf(objects), keyOf(server));
  assert.ok(bundle !== undefined);
  const { objects: children, ...plan } = kind.plan(bundle, DEFAULT_SETTINGS);
  const { conditions = [] } = (plan.status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  };
  return { ...plan, children, tooMany: conditions.filter(({ reason }) => reason === 'TooManyBackends') };
};

test('a server with more backends than one may have keeps what it has, and says so', () => {
  const group = made('MCPGroup', 'g', {});
  const [fits, exceeds] = [members('g', MAX_BACKENDS), members('g', MAX_BACKENDS + 1)];
  const server = serving('it', 'g', 0);
  assert.deepEqual(statusOf(server, [group, server, ...fits]).tooMany, []);
  const served = {
    ...server,
    status: { phase: 'Ready', url: 'http://it', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const { children, tooMany, status, requeueAfterMs } = statusOf(served, [group, served, ...exceeds]);
  assert.equal(children, undefined);
  assert.deepEqual(
    tooMany.map(({ type }) => type),
    ['BackendsDiscovered', 'Ready', 'Stalled'],
  );
  assert.match(
    tooMany[0]?.message ?? '',
    /^g: 2001 members, and one server has 2000 backends at most; use several groups/,
  );
  assert.deepEqual([status?.['phase'], status?.['url'], requeueAfterMs], ['Degraded', 'http://it', 60_000]);
});

test('the servers of a namespace share a budget, which the oldest have first', () => {
  const count = MAX_NAMESPACE_BACKENDS / MAX_BACKENDS;
  const servers = Array.from({ length: count + 1 }, (_, age) => serving(`s${count - age}`, 'g', age));
  const [youngest, ...older] = servers.toReversed();
  assert.ok(youngest !== undefined);
  const objects = [made('MCPGroup', 'g', {}), ...servers, ...members('g', MAX_BACKENDS)];
  assert.match(
    statusOf(youngest, objects).tooMany[0]?.message ?? '',
    /have 22000 backends together, and 20000 are the most/,
  );
  for (const server of [older[0], older.at(-1)]) assert.deepEqual(server && statusOf(server, objects).tooMany, []);
});

test('a server may move from one large group to another', () => {
  const before = serving('it', 'a', 0);
  const source = sourceOf([...members('a', 1_100), ...members('b', 1_100), before]);
  const budget = new BackendBudget(
    ['MCPServerEntry'],
    ({ spec }) => (spec as { groupRef: { name: string } }).groupRef.name,
  );
  assert.equal(budget.exceededBy(source, before, ['b', 'a']), undefined);
  assert.match(
    budget.exceededBy(sourceOf([...members('a', 2_100), ...members('b', 3), before]), before, ['b', 'a']) ?? '',
    /^a: 2100 members/,
  );
});
