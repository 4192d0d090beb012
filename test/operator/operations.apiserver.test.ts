import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import {
  countedWrites,
  installOperator,
  operatorUser,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';
import { wireTo } from './engine/wire.ts';
import type { Line, OperatorUnderTest } from './engine/operator-under-test.ts';

let cluster: ControlPlane;
let kubeconfig: string;

before(async () => {
  cluster = await startControlPlane();
  kubeconfig = await installOperator(cluster, servers);
});
after(() => cluster.stop());
// What a test that failed has left.
afterEach(async () => {
  await Promise.all(started.splice(0).map((operator) => operator.stop()));
});

const started: OperatorUnderTest[] = [];

const start = async (options: Parameters<typeof startOperatorUnderTest>[2]): Promise<OperatorUnderTest> => {
  const operator = await startOperatorUnderTest(kubeconfig, servers, options);
  started.push(operator);
  return operator;
};

const group = { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} };

const server = (name: string, spec: object = {}): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'VirtualMCPServer',
  metadata: { name },
  spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, replicas: 0, ...spec },
});

const apply = (...items: readonly object[]): Promise<string> =>
  cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

const childrenOf = async (name: string): Promise<readonly string[]> => {
  const selector = `app.kubernetes.io/instance=${name}`;
  const text = await cluster.kubectl(['get', 'sa,svc,cm,deploy', '-l', selector, '-o', 'name']);
  return text.split('\n').filter((line) => line !== '');
};

/** Undefined until an operator wrote it: the CRD has a default. */
const statusOf = async (name: string): Promise<unknown> => {
  const { status } = JSON.parse(await cluster.kubectl(['get', 'vmcp', name, '-o', 'json'])) as {
    readonly status?: { readonly observedGeneration?: number };
  };
  return status?.observedGeneration === undefined ? undefined : status;
};

const untilReported = (name: string): Promise<unknown> =>
  until(`${name} to have a status`, async () => (await statusOf(name)) ?? undefined);

const rehearsed = (log: readonly Line[]): readonly Line[] => log.filter(({ dryRun }) => dryRun === true);

/** Waits until it tells of nothing more. */
const untilRehearsed = async ({ log }: OperatorUnderTest, atLeast: number): Promise<readonly Line[]> => {
  let [count, since] = [-1, performance.now()];
  return until(`${atLeast} writes that are not made`, async () => {
    const lines = rehearsed(log);
    if (lines.length !== count) [count, since] = [lines.length, performance.now()];
    return count >= atLeast && performance.now() - since > 1500 ? lines : undefined;
  });
};

const told = ({ verb, kind, name, subresource, reason, change, refused }: Line): string =>
  [verb, kind, String(name).replace(/-[0-9a-f]{10}$/, ''), subresource ?? reason, change, refused && 'refused']
    .map((word) => (typeof word === 'string' ? word : undefined))
    .filter((word) => word !== undefined)
    .join(' ');

const refuseNodePorts = async (): Promise<void> => {
  await cluster.kubectl(['create', 'quota', 'none', '--hard=services.nodeports=0']);
  // No controller counts here.
  const none = { 'services.nodeports': '0' };
  const patch = JSON.stringify({ status: { hard: none, used: none } });
  await cluster.kubectl(['patch', 'quota', 'none', '--subresource=status', '--type=merge', '-p', patch]);
};

test('a dry run tells of every write and makes none', async () => {
  await refuseNodePorts();
  await apply(group, server('dry'), server('refused', { serviceType: 'NodePort' }));
  const webhook = { configuration: 'vmcp-operator-webhook', port: 0, lingerMs: 0 };
  const operator = await start({
    isDryRun: true,
    leaderElection: true,
    webhook,
  });
  assert.equal(operator.webhookPort, undefined);
  const lines = await untilRehearsed(operator, 8);
  const about = (name: string): readonly string[] =>
    lines.filter((line) => String(line['name']).includes(name)).map(told);
  assert.deepEqual(about('dry').slice(0, 4).toSorted(), [
    'apply ConfigMap vmcp-dry create',
    'apply Deployment vmcp-dry create',
    'apply Service vmcp-dry create',
    'apply ServiceAccount vmcp-dry create',
  ]);
  assert.ok(about('dry').includes('apply VirtualMCPServer dry status update'), about('dry').join('\n'));
  assert.ok(about('refused').includes('apply Service vmcp-refused create refused'), about('refused').join('\n'));
  await operator.stop();
  const writes = await cluster.writes(operatorUser);
  assert.deepEqual(
    writes.filter(({ isDryRun }) => !isDryRun),
    [],
  );
  assert.deepEqual([await childrenOf('dry'), await statusOf('dry')], [[], undefined]);
  const own = await cluster.kubectl(['get', 'secrets,leases', '-n', 'vmcp-system', '-o', 'name']);
  assert.doesNotMatch(own, /vmcp/);
});

test('of what is there a dry run tells the fields that would change, once', async () => {
  const real = await start({});
  await untilReported('dry');
  await untilQuiet(cluster);
  await real.stop();
  await apply(server('dry', { sessionAffinity: 'None' }));
  const operator = await start({ isDryRun: true });
  const lines = await untilRehearsed(operator, 2);
  const service = lines.filter(({ kind, name }) => kind === 'Service' && name === 'vmcp-dry');
  assert.equal(service.length, 1, JSON.stringify(lines));
  assert.equal(service[0]?.['change'], 'update');
  const fields = (service[0]?.['fields'] ?? []) as readonly string[];
  assert.ok(fields.includes('spec.sessionAffinity'), JSON.stringify(service));
  // Touched again, it comes to the same writes.
  await cluster.kubectl(['annotate', 'vmcp', 'dry', 'team=blue']);
  assert.equal((await untilRehearsed(operator, lines.length)).length, lines.length);
  await operator.stop();
  const affinity = await cluster.kubectl(['get', 'service', 'vmcp-dry', '-o', 'jsonpath={.spec.sessionAffinity}']);
  assert.equal(affinity, 'ClientIP');
});

const metricsAt = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** The sum of the samples of this name whose labels hold all of these. */
const sum = (text: string, name: string, ...labels: readonly string[]): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`vmcp_operator_${name}`) && labels.every((label) => line.includes(label)))
    .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);

test('what it does can be counted', async () => {
  const operator = await start({ leaderElection: true });
  await apply(server('counted'));
  await untilReported('counted');
  await untilQuiet(cluster);
  const text = await metricsAt(operator.healthPort);
  const ofServers = 'kind="VirtualMCPServer"';
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="written"') >= 1);
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="refused"') >= 1);
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="unchanged"') >= 1);
  assert.ok(sum(text, 'reconcile_duration_seconds_count', ofServers) >= 3);
  assert.ok(sum(text, 'queue_wait_seconds_count') >= 3);
  assert.ok(sum(text, 'api_requests_total', 'verb="apply"', 'kind="Deployment"', 'code="201"') >= 1);
  assert.ok(sum(text, 'api_requests_total', 'verb="watch"', 'kind="MCPGroup"', 'code="200"') >= 1);
  assert.ok(sum(text, 'api_request_duration_seconds_count', 'verb="list"') >= 10);
  assert.deepEqual([sum(text, 'leader'), sum(text, 'queue_depth'), sum(text, 'servers')], [1, 0, 3]);
  assert.equal(sum(text, 'retries_total') + sum(text, 'watch_restarts_total'), 0);
  assert.doesNotMatch(text, /"(counted|dry|tools|default|vmcp-system)"/);
  await operator.stop();
});

/** The operator as a process of its own, one reconcile after the other. */
const startProcess = (kubeconfigPath: string): ChildProcess => {
  const program = join(import.meta.dirname, '../../operator/main.ts');
  const flags = { 'operator-namespace': 'vmcp-system', workers: '1', 'health-port': '0', 'log-level': 'error' };
  const args = Object.entries({ ...flags, kubeconfig: kubeconfigPath, image: 'example.test/vmcp:1' });
  const argv = [program, 'run', ...args.map(([flag, value]) => `--${flag}=${value}`)];
  return spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] });
};

const holderOf = (): Promise<string> =>
  cluster.kubectl(['get', 'lease', 'vmcp-operator', '-n', 'vmcp-system', '-o', 'jsonpath={.spec.holderIdentity}']);

/** Starts it with work to do, and holds back the answers once it has begun to write. */
const heldInTheMiddle = async (names: readonly string[]) => {
  await apply(group, ...names.map((name) => server(name)));
  const wire = await wireTo(cluster, kubeconfig);
  const seen = (await countedWrites(cluster)).length;
  const operator = startProcess(wire.kubeconfig);
  const hasBegun = async () => ((await countedWrites(cluster)).length > seen + 6 ? true : undefined);
  await until('some writes', hasBegun, { intervalMs: 2 });
  wire.hold();
  assert.notEqual(await holderOf(), '');
  const exited = once(operator, 'exit');
  operator.kill('SIGTERM');
  return { wire, operator, exited };
};

test('SIGTERM lets the reconcile under way come to its end: nothing is left half made, the Lease is free, the exit is 0', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `stopped-${index}`);
  const { wire, operator, exited } = await heldInTheMiddle(names);
  // So long nothing can end: the API server does not answer.
  const first = await Promise.race([exited.then(() => 'exited'), untilQuiet(cluster, 500).then(() => 'at work')]);
  assert.equal(first, 'at work');
  wire.release();
  await exited;
  await wire.stop();
  assert.equal(operator.exitCode, 0);
  const made = await Promise.all(
    names.map(async (name) => ({ children: (await childrenOf(name)).length, status: await statusOf(name) })),
  );
  assert.deepEqual(
    made.filter(({ children, status }) => children !== (status === undefined ? 0 : 4)),
    [],
  );
  assert.ok(
    made.some(({ children }) => children === 0),
    'it was stopped before it was done',
  );
  assert.equal(await holderOf(), '');
});

test('an API server that does not answer holds up no stop for longer than a pod has', async () => {
  const { wire, operator, exited } = await heldInTheMiddle(
    Array.from({ length: 8 }, (_, index) => `unanswered-${index}`),
  );
  const stoppedAt = performance.now();
  await exited;
  const tookMs = performance.now() - stoppedAt;
  await wire.stop();
  assert.equal(operator.exitCode, 0);
  assert.ok(tookMs < 12_000, `it took ${tookMs} ms`);
});
