import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { JWK } from 'jose';
import { parse } from 'yaml';
import type { KubeObject } from '../../operator/object.ts';
import type { BackendStatus, StatusReport } from '../../runtime/status-report.ts';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import { covers } from '../requirements.ts';
import { pretendReady, serveReport } from './engine/fake-pod.ts';
import type { FakePod } from './engine/fake-pod.ts';
import {
  countedWrites,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';
import type { OperatorUnderTest } from './engine/operator-under-test.ts';

const quickstart = join(import.meta.dirname, '../../examples/quickstart/quickstart.yaml');

/** A loopback address of its own, so that the fixed management port is free. */
const podAddress = '127.44.84.1';

let cluster: ControlPlane;
let kubeconfig: string;
let operator: OperatorUnderTest | undefined;
let pod: FakePod | undefined;

before(async () => {
  cluster = await startControlPlane();
  kubeconfig = await installOperator(cluster, servers);
  operator = await startOperatorUnderTest(kubeconfig, servers);
  await operator.synced;
});
after(async () => {
  await pod?.stop();
  await operator?.stop();
  await cluster.stop();
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface Status {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly backendCount?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly discoveredBackends?: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
  }[];
}

const get = async (kind: string, name: string): Promise<KubeObject> =>
  JSON.parse(await cluster.kubectl(['get', kind, name, '-o', 'json'])) as KubeObject;

const statusOf = async (name = 'quickstart'): Promise<Status> => (await get('virtualmcpserver', name))['status'] ?? {};

const untilStatus = (what: string, holds: (status: Status) => boolean, name?: string): Promise<Status> =>
  until(what, async () => {
    const status = await statusOf(name);
    return holds(status) ? status : undefined;
  });

const names = async (kind: string): Promise<readonly string[]> => {
  const selector = 'app.kubernetes.io/instance=quickstart';
  const text = await cluster.kubectl(['get', kind, '-l', selector, '-o', 'name']);
  return text.split('\n').flatMap((line) => line.split('/')[1] ?? []);
};

const writesSince = async (count: number): Promise<readonly string[]> =>
  (await countedWrites(cluster))
    .slice(count)
    .map(({ verb, resource, subresource, name }) => `${verb} ${resource}${subresource && `/${subresource}`} ${name}`);

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

covers('status.phase.default-pending', 'status.conditions.list', 'status.discovered.list');
test('the quickstart is converged within eleven writes: its children, and one status for each resource', async () => {
  await cluster.kubectl(['apply', '--server-side', '-f', quickstart]);
  const status = await untilStatus('the status', ({ observedGeneration }) => observedGeneration === 1);
  await untilQuiet(cluster);
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
  const writes = (await writesSince(0)).filter((write) => !write.startsWith('create secrets'));
  assert.ok(writes.length <= 11, writes.join('\n'));
  assert.equal(new Set(writes).size, writes.length, `something was written twice:\n${writes.join('\n')}`);
});

covers('status.backend-count', 'status.changes-reported');
test('what a ready pod reports becomes the status, told to nobody without the key of the operator', async () => {
  const configMap = await get('configmap', (await names('configmap'))[0] ?? '');
  const config = parse((configMap['data'] as Readonly<Record<string, string>>)['config.yaml'] ?? '') as {
    readonly management: { readonly audience: string; readonly operatorKeys: readonly JWK[] };
  };
  const { audience, operatorKeys: keys } = config.management;
  assert.equal(audience, (await get('virtualmcpserver', 'quickstart')).metadata.uid);
  pod = await serveReport(podAddress, { keys, audience }, report(['everything', 'ready'], ['playwright', 'ready']));
  assert.equal((await fetch(`http://${podAddress}:4484/status`)).status, 401);
  await pretendReady(cluster, (await names('pod'))[0] ?? '', podAddress);
  const status = await untilStatus('Ready', ({ phase }) => phase === 'Ready');
  assert.equal(status.backendCount, 2);
  pod.report = report(['everything', 'ready'], ['playwright', 'unavailable', 'connection refused']);
  const degraded = await untilStatus('Degraded', ({ phase }) => phase === 'Degraded');
  assert.equal(degraded.backendCount, 1);
  assert.match(JSON.stringify(degraded.discoveredBackends), /connection refused/);
  pod.report = report(['everything', 'ready'], ['playwright', 'ready']);
  await untilStatus('Ready again', ({ phase }) => phase === 'Ready');
});

test('the key of the management ports is rotated by deleting its Secret: no pod restarts and none is out of reach', async () => {
  const keys = async (): Promise<readonly JWK[]> => {
    const configMap = await get('configmap', (await names('configmap'))[0] ?? '');
    const text = (configMap['data'] as Readonly<Record<string, string>>)['config.yaml'] ?? '';
    return (parse(text) as { readonly management: { readonly operatorKeys: readonly JWK[] } }).management.operatorKeys;
  };
  const old = await keys();
  const { generation } = (await get('deployment', 'vmcp-quickstart')).metadata;
  await cluster.kubectl(['delete', 'secret', 'vmcp-operator-management', '-n', 'vmcp-system']);
  const both = await until('a second key', async () => {
    const now = await keys();
    return now.length === 2 ? now : undefined;
  });
  assert.deepEqual(both.slice(1), old);
  assert.equal((await get('deployment', 'vmcp-quickstart')).metadata.generation, generation);
  await untilQuiet(cluster);
  assert.equal((await statusOf()).phase, 'Ready');
});

covers('status.observed-generation');
test('a changed spec is live in the same ConfigMap, without another pod template', async () => {
  const before = await get('deployment', 'vmcp-quickstart');
  const patch = JSON.stringify({ spec: { config: { operational: { timeouts: { default: '7s' } } } } });
  await cluster.kubectl(['patch', 'vmcp', 'quickstart', '--type=merge', '-p', patch]);
  const { generation } = (await get('virtualmcpserver', 'quickstart')).metadata;
  await untilStatus('the new generation', ({ observedGeneration }) => observedGeneration === generation);
  const configMaps = await names('configmap');
  assert.equal(configMaps.length, 1);
  assert.match(JSON.stringify((await get('configmap', configMaps[0] ?? ''))['data']), /7s/);
  assert.equal((await get('deployment', 'vmcp-quickstart')).metadata.generation, before.metadata.generation);
});

test('a backend that is added to the group is rendered, and one that leaves is gone', async () => {
  const rendered = async (): Promise<string> =>
    JSON.stringify((await get('configmap', (await names('configmap'))[0] ?? ''))['data']);
  const third = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind: 'MCPServerEntry',
    metadata: { name: 'third' },
    spec: { groupRef: { name: 'tools' }, remoteUrl: 'http://third:80/mcp', transport: 'streamable-http' },
  };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(third));
  await until('the backend to be rendered', async () => (/third:80/.test(await rendered()) ? true : undefined));
  await cluster.kubectl(['delete', 'mcpserverentry', 'third']);
  await until('it to be gone', async () => (/third:80/.test(await rendered()) ? undefined : true));
});

covers('operator.replicas.absent-external');
test('a replica count from elsewhere survives, and the count of the resource holds when it gives one', async () => {
  const replicas = async (): Promise<unknown> =>
    ((await get('deployment', 'vmcp-quickstart'))['spec'] as { readonly replicas?: number }).replicas;
  await cluster.kubectl(['scale', 'deployment', 'vmcp-quickstart', '--replicas=3']);
  await cluster.kubectl(['annotate', 'vmcp', 'quickstart', 'touched=1']);
  await untilQuiet(cluster);
  assert.equal(await replicas(), 3);
  await cluster.kubectl(['patch', 'vmcp', 'quickstart', '--type=merge', '-p', '{"spec":{"replicas":2}}']);
  await until('two replicas', async () => ((await replicas()) === 2 ? true : undefined));
  await cluster.kubectl([
    'patch',
    'vmcp',
    'quickstart',
    '--type=json',
    '-p',
    '[{"op":"remove","path":"/spec/replicas"}]',
  ]);
  await untilQuiet(cluster);
  assert.equal(await replicas(), 2);
});

covers('operator.group-ref.must-exist');
test('a group that does not exist is told in the status, and nothing is made until it comes', async () => {
  const lonely = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'lonely' },
    spec: { groupRef: { name: 'nobody' }, incomingAuth: { type: 'anonymous' } },
  };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(lonely));
  const status = await untilStatus('the status', ({ observedGeneration }) => observedGeneration === 1, 'lonely');
  assert.notEqual(status.phase, 'Ready');
  assert.match(JSON.stringify(status.conditions), /nobody/);
  await assert.rejects(get('deployment', 'vmcp-lonely'), /not found/i);
  const group = { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPGroup', metadata: { name: 'nobody' }, spec: {} };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(group));
  await until('its Deployment', () => get('deployment', 'vmcp-lonely'));
});

test('nothing is written at rest, nor by an operator that starts anew', async () => {
  await untilQuiet(cluster, 3000);
  const count = (await countedWrites(cluster)).length;
  await operator?.stop();
  operator = await startOperatorUnderTest(kubeconfig, servers);
  await operator.synced;
  await untilQuiet(cluster, 6000);
  assert.deepEqual(await writesSince(count), []);
});

test('a deleted server takes everything with it', async () => {
  await cluster.kubectl(['delete', 'vmcp', 'quickstart']);
  await until('its children to go', async () =>
    (await names('deployment,service,serviceaccount,configmap')).length === 0 ? true : undefined,
  );
});

test('no reconcile failed and no watch was interrupted on the way', () => {
  assert.deepEqual(
    operator?.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
