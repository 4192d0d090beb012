import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JWK } from 'jose';
import { parse } from 'yaml';
import type { BackendStatus, StatusReport } from '../../runtime/status/report.ts';
import { until } from '../cluster/index.ts';
import { covers } from '../requirements.ts';
import { clusterUnderTest, quickstart } from './engine/cluster-under-test.ts';
import { made, madeServer } from './engine/cluster-user.ts';
import { type FakePod, pretendReady, serveReport } from './engine/fake-pod.ts';
import { servers } from './engine/operator-under-test.ts';

/** A loopback address of its own, so that the fixed management port is free. */
const podAddress = '127.44.84.1';

const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, patch, remove, childrenOf, statusOf, untilStatus, untilQuiet, writesDuring } = cluster;
const vmcp = ['vmcp', 'quickstart'] as const;
const deployment = () => get('deployment', 'vmcp-quickstart');

let pod: FakePod | undefined;
after(() => pod?.stop());

const names = async (kinds: string): Promise<readonly string[]> =>
  (await childrenOf('quickstart', kinds)).map(({ metadata }) => metadata.name);

/** What is mounted into the pods, by file. */
const mounted = async (): Promise<Readonly<Record<string, string>>> => {
  const [configMap] = await childrenOf('quickstart', 'configmap');
  assert.ok(configMap !== undefined);
  return configMap['data'] as Readonly<Record<string, string>>;
};

interface Management {
  readonly audience: string;
  readonly operatorKeys: readonly JWK[];
}

const management = async (): Promise<Management> =>
  (parse((await mounted())['config.yaml'] ?? '') as { readonly management: Management }).management;

const report = (...backends: readonly (readonly [string, BackendStatus, string?])[]): StatusReport => ({
  version: '1',
  config: { hash: 'x' },
  toolCount: 5,
  backends: backends.map(([name, status, message]) => ({
    name,
    status,
    ...(message === undefined ? {} : { message }),
    lastHealthCheck: new Date().toISOString(),
    consecutiveFailures: status === 'ready' ? 0 : 3,
    toolCount: 2,
  })),
  collisions: [],
});

covers(
  'status.phase.default-pending',
  'status.conditions.list',
  'status.discovered.list',
  'operator.service-account.auto-created',
);
test('the quickstart is converged within eleven writes: its children, and one status for each resource', async () => {
  await kubectl(['apply', '--server-side', '-f', quickstart]);
  const status = await untilStatus('the status', vmcp);
  assert.equal(status.observedGeneration, 1);
  await untilQuiet();
  assert.equal(status.phase, 'Pending');
  assert.deepEqual(
    status.discoveredBackends?.map(({ name }) => name),
    ['everything', 'playwright'],
  );
  assert.ok((status.conditions ?? []).length > 0);
  assert.equal(status.url, 'http://vmcp-quickstart.default.svc.cluster.local:4483/mcp');
  assert.deepEqual(await Promise.all(['deployment', 'service', 'serviceaccount'].map(names)), [
    ['vmcp-quickstart'],
    ['vmcp-quickstart'],
    ['vmcp-quickstart'],
  ]);
  const { template } = (await deployment())['spec'] as { readonly template: { readonly spec: object } };
  assert.match(JSON.stringify(template.spec), /"serviceAccountName":"vmcp-quickstart"/);
  const writes = (await cluster.writes()).filter((write) => !write.startsWith('create secrets'));
  assert.ok(writes.length <= 11, writes.join('\n'));
  assert.equal(new Set(writes).size, writes.length, `something was written twice:\n${writes.join('\n')}`);
});

covers('status.backend-count', 'status.changes-reported');
test('what a ready pod reports becomes the status, which no pod reports to a client without the key of the operator', async () => {
  const { audience, operatorKeys: keys } = await management();
  assert.equal(audience, (await get(...vmcp)).metadata.uid);
  pod = await serveReport(podAddress, { keys, audience }, report(['everything', 'ready'], ['playwright', 'ready']));
  assert.equal((await fetch(`http://${podAddress}:4484/status`)).status, 401);
  await pretendReady(cluster.plane, (await names('pod'))[0] ?? '', podAddress);
  const status = await untilStatus('Ready', vmcp, ({ phase }) => phase === 'Ready');
  assert.equal(status.backendCount, 2);
  pod.report = report(['everything', 'ready'], ['playwright', 'unavailable', 'connection refused']);
  const degraded = await untilStatus('Degraded', vmcp, ({ phase }) => phase === 'Degraded');
  assert.equal(degraded.backendCount, 1);
  assert.match(JSON.stringify(degraded.discoveredBackends), /connection refused/);
  pod.report = report(['everything', 'ready'], ['playwright', 'ready']);
  await untilStatus('Ready again', vmcp, ({ phase }) => phase === 'Ready');
});

test('the key of the management ports is rotated by deleting its Secret: no pod restarts and none is out of reach', async () => {
  const old = (await management()).operatorKeys;
  const { generation } = (await deployment()).metadata;
  await remove('secret', 'vmcp-operator-management', '-n', 'vmcp-system');
  const both = await until('a second key', async () => {
    const now = (await management()).operatorKeys;
    return now.length === 2 ? now : undefined;
  });
  assert.deepEqual(both.slice(1), old);
  assert.equal((await deployment()).metadata.generation, generation);
  await untilQuiet();
  assert.equal((await statusOf(...vmcp)).phase, 'Ready');
});

covers('status.observed-generation');
test('a changed spec is live in the same ConfigMap, without another pod template', async () => {
  const before = await deployment();
  await patch(vmcp, 'merge', { spec: { config: { operational: { timeouts: { default: '7s' } } } } });
  await untilStatus('the new generation', vmcp);
  assert.equal((await names('configmap')).length, 1);
  assert.match(JSON.stringify(await mounted()), /7s/);
  assert.equal((await deployment()).metadata.generation, before.metadata.generation);
});

test('a backend that is added to the group is rendered, and one that leaves is gone', async () => {
  const rendered = async (): Promise<boolean> => JSON.stringify(await mounted()).includes('third:80');
  const third = { groupRef: { name: 'tools' }, remoteUrl: 'http://third:80/mcp', transport: 'streamable-http' };
  await apply(made('MCPServerEntry', 'third', third));
  await until('the backend to be rendered', async () => (await rendered()) || undefined);
  await remove('mcpserverentry', 'third');
  await until('it to be gone', async () => ((await rendered()) ? undefined : true));
});

covers('operator.replicas.absent-external');
test('a replica count of another writer survives, and the count of the resource holds when it gives one', async () => {
  const replicas = async (): Promise<unknown> =>
    ((await deployment())['spec'] as { readonly replicas?: number }).replicas;
  await kubectl(['scale', 'deployment', 'vmcp-quickstart', '--replicas=3']);
  await kubectl(['annotate', ...vmcp, 'touched=1']);
  await untilQuiet();
  assert.equal(await replicas(), 3);
  await patch(vmcp, 'merge', { spec: { replicas: 2 } });
  await until('two replicas', async () => ((await replicas()) === 2 ? true : undefined));
  await kubectl(['scale', 'vmcp/quickstart', '--replicas=4']);
  await until('four replicas', async () => ((await replicas()) === 4 ? true : undefined));
  const scale = await kubectl([
    'get',
    '--raw',
    '/apis/vmcp.dev/v1beta1/namespaces/default/virtualmcpservers/quickstart/scale',
  ]);
  const { selector = '' } = (JSON.parse(scale) as { readonly status: { readonly selector?: string } }).status;
  const pods = await kubectl(['get', 'pods', '--selector', selector, '--output', 'name']);
  assert.equal(pods.trim().split('\n').length, 4);
  await patch(vmcp, 'json', [{ op: 'remove', path: '/spec/replicas' }]);
  await untilQuiet();
  assert.equal(await replicas(), 4);
});

covers('operator.group-ref.must-exist');
test('a group that does not exist is told in the status, and nothing is made until it comes', async () => {
  await apply(madeServer('lonely', { groupRef: { name: 'nobody' } }));
  const status = await untilStatus('the status', ['vmcp', 'lonely']);
  assert.notEqual(status.phase, 'Ready');
  assert.match(JSON.stringify(status.conditions), /nobody/);
  await assert.rejects(get('deployment', 'vmcp-lonely'), /not found/i);
  await apply(made('MCPGroup', 'nobody', {}));
  await until('its Deployment', () => get('deployment', 'vmcp-lonely'));
});

test('nothing is written at rest, nor by an operator that starts anew', async () => {
  await untilQuiet(3000);
  assert.deepEqual(await writesDuring(cluster.restartOperator, 6000), []);
});

test('a deleted server takes everything with it', async () => {
  await remove(...vmcp);
  await until('its children to go', async () =>
    (await names('deployment,service,serviceaccount,configmap')).length === 0 ? true : undefined,
  );
});

test('no reconcile failed and no watch was interrupted on the way', () => {
  assert.deepEqual(
    cluster.operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
