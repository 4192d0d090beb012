import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { conditionIn, made } from './engine/cluster-user.ts';
import { pretendReady } from './engine/fake-pod.ts';
import { servers } from './engine/operator-under-test.ts';

/** Rows of `kinds/odd-orders.test.ts` as a real API server and its controllers play them. */
const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, patch, untilStatus, untilQuiet, assertAtRest } = cluster;

const WEATHER = ['mcpserver', 'weather'] as const;
const weather = (spec: object): object => made('MCPServer', 'weather', { image: 'example.test/weather:1', ...spec });

const namesOf = async (kinds: string): Promise<readonly string[]> => {
  const text = await kubectl(['get', kinds, '-l', 'app.kubernetes.io/instance=weather', '-o', 'name']);
  return text.split('\n').filter(Boolean);
};

test('a stdio server that runs', async () => {
  await apply(weather({ transport: 'stdio' }));
  const pod = await until('a pod', async () => (await namesOf('pods'))[0]?.slice('pod/'.length));
  await pretendReady(cluster.plane, pod, '127.44.86.2');
  await untilStatus('phase Ready', WEATHER, ({ phase }) => phase === 'Ready');
});

test('of a change of transport that the API server refuses nothing comes: what runs stays, with its rights, and status tells', async () => {
  const podTemplateSpec = { spec: { containers: [{ name: 'mcp', imagePullPolicy: 'Sometimes' }] } };
  await apply(weather({ transport: 'sse', podTemplateSpec }));
  const status = await untilStatus('the refusal', WEATHER, (each) => conditionIn(each, 'ChildRefused') !== undefined);
  await untilQuiet();
  assert.deepEqual(await namesOf('deployments,statefulsets,rolebindings'), [
    'statefulset.apps/mcpserver-weather',
    'rolebinding.rbac.authorization.k8s.io/mcpserver-weather',
  ]);
  assert.deepEqual([status.phase, status.readyReplicas], ['Ready', 1]);
  assert.equal(status.url, 'http://mcpserver-weather.default.svc.cluster.local:8080/mcp');
});

test('once it is accepted nothing of the old way stays', async () => {
  await apply(weather({ transport: 'sse' }));
  await untilStatus('the new way', WEATHER, ({ url = '' }) => url.endsWith('/sse'));
  await untilQuiet();
  assert.deepEqual(await namesOf('deployments,statefulsets,rolebindings,roles'), ['deployment.apps/mcpserver-weather']);
  const status = await untilStatus('its pods', WEATHER, ({ readyReplicas }) => readyReplicas === 0);
  assert.equal(status.phase, 'Pending');
});

test('the account of a stdio server that is scaled to zero has no rights, and is given none by hand', async () => {
  const role = ['role', 'mcpserver-clock'] as const;
  const rules = async (): Promise<number> =>
    ((await get(...role)) as { readonly rules?: readonly unknown[] | null }).rules?.length ?? 0;
  const untilRules = (count: number) =>
    until(`${count} rules`, async () => ((await rules()) === count ? true : undefined));
  const clock = (replicas: number): object =>
    made('MCPServer', 'clock', { image: 'example.test/clock:1', transport: 'stdio', replicas });
  await apply(clock(2));
  await until('the Role', () => get(...role));
  await untilRules(2);
  await apply(clock(0));
  await untilRules(0);
  const more = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }];
  await patch(role, 'merge', { rules: more });
  await untilRules(0);
  await assertAtRest(...role);
});
