import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { until } from '../cluster/index.ts';
import { builtProgram } from '../images/bundle.ts';
import { installedCluster } from './engine/cluster-under-test.ts';
import { made, madeServer, refuseNodePorts } from './engine/cluster-user.ts';
import {
  type Line,
  type OperatorUnderTest,
  countedWrites,
  operatorUser,
  servers,
} from './engine/operator-under-test.ts';
import { kill, spawnOperator } from './engine/operator-process.ts';
import { wireTo } from './engine/wire.ts';

const cluster = installedCluster(servers);
const { kubectl, apply, remove, childrenOf, statusOf, untilStatus, untilQuiet, startOperator } = cluster;

before(async () => {
  await cluster.ready();
  await apply(made('MCPGroup', 'tools', {}));
});

const server = (name: string, spec: object = {}): object => madeServer(name, { replicas: 0, ...spec });

const isReported = async (name: string): Promise<boolean> => (await statusOf('vmcp', name)).observedGeneration !== -1;

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

test('a dry run tells of every write and makes none', async () => {
  await refuseNodePorts(cluster);
  await apply(server('dry'), server('refused', { serviceType: 'NodePort' }));
  const webhook = { configuration: 'vmcp-operator-webhook', port: 0, drainMs: 0 };
  const operator = await startOperator({ isDryRun: true, leaderElection: true, webhook });
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
  const writes = await cluster.plane.writes(operatorUser);
  assert.deepEqual(
    writes.filter(({ isDryRun }) => !isDryRun),
    [],
  );
  assert.deepEqual([await childrenOf('dry'), await isReported('dry')], [[], false]);
  const own = await kubectl(['get', 'secrets,leases', '-n', 'vmcp-system', '-o', 'name']);
  assert.doesNotMatch(own, /vmcp/);
});

test('of what is there a dry run tells the fields that would change, once', async () => {
  const real = await startOperator({});
  await untilStatus('a status', ['vmcp', 'dry']);
  await untilQuiet();
  await real.stop();
  await apply(server('dry', { sessionAffinity: 'None' }));
  const operator = await startOperator({ isDryRun: true });
  const lines = await untilRehearsed(operator, 2);
  const service = lines.filter(({ kind, name }) => kind === 'Service' && name === 'vmcp-dry');
  assert.equal(service.length, 1, JSON.stringify(lines));
  assert.equal(service[0]?.['change'], 'update');
  const fields = (service[0]?.['fields'] ?? []) as readonly string[];
  assert.ok(fields.includes('spec.sessionAffinity'), JSON.stringify(service));
  // Touched again, it comes to the same writes.
  await kubectl(['annotate', 'vmcp', 'dry', 'team=blue']);
  assert.equal((await untilRehearsed(operator, lines.length)).length, lines.length);
  await operator.stop();
  const affinity = await kubectl(['get', 'service', 'vmcp-dry', '-o', 'jsonpath={.spec.sessionAffinity}']);
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
  const operator = await startOperator({ leaderElection: true });
  await apply(server('counted'));
  await untilStatus('a status', ['vmcp', 'counted']);
  await untilQuiet();
  const text = await metricsAt(operator.healthPort);
  const ofServers = 'kind="VirtualMCPServer"';
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="written"') >= 1);
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="refused"') >= 1);
  assert.ok(sum(text, 'reconciles_total', ofServers, 'result="unchanged"') >= 1);
  assert.ok(sum(text, 'reconcile_duration_seconds_count', ofServers) >= 3);
  assert.ok(sum(text, 'queue_wait_seconds_count') >= 3);
  assert.ok(sum(text, 'api_requests_total', 'verb="apply"', 'kind="Deployment"', 'code="201"') >= 1);
  assert.ok(sum(text, 'api_requests_total', 'verb="watch"', 'kind="MCPGroup"', 'code="200"') >= 1);
  assert.ok(sum(text, 'api_request_duration_seconds_count', 'verb="watch"') >= 10);
  assert.deepEqual([sum(text, 'leader'), sum(text, 'queue_depth'), sum(text, 'servers')], [1, 0, 3]);
  assert.equal(sum(text, 'retries_total') + sum(text, 'watch_restarts_total'), 0);
  assert.doesNotMatch(text, /"(counted|dry|tools|default|vmcp-system)"/);
  await operator.stop();
});

const program = await builtProgram('operator/main.ts');

/** One reconcile after the other. */
const startProcess = (more: Readonly<Record<string, string>> = {}): ChildProcess =>
  spawnOperator(cluster.kubeconfig, { workers: '1', ...more }, { program });

describe('killed', () => {
  // What is left of other tests would be work for an operator that starts.
  before(() => remove('vmcp', '--all'));

  /** Those of the servers that have all their children and a status of their newest generation. */
  const complete = async (names: readonly string[]): Promise<readonly string[]> => {
    const items = (await cluster.plane.list('vmcp,sa,svc,cm,deploy')) as readonly KubeObject[];
    return names.filter((name) => {
      const children = items.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === name);
      const itself = items.find(({ kind, metadata }) => kind === 'VirtualMCPServer' && metadata.name === name);
      const status = itself?.['status'] as { readonly observedGeneration?: number } | undefined;
      const kinds = children.map(({ kind }) => kind).toSorted();
      return (
        kinds.join() === 'ConfigMap,Deployment,Service,ServiceAccount' &&
        status?.observedGeneration === itself?.metadata.generation
      );
    });
  };

  const untilComplete = (names: readonly string[]): Promise<true> =>
    until(`${names.length} servers to be complete`, async () =>
      (await complete(names)).length === names.length ? true : undefined,
    );

  test('an operator that is killed between two writes goes on where it was, and makes nothing twice', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `killed-${index}`);
    await apply(...names.map((name) => server(name)));
    const begun = (await countedWrites(cluster.plane)).length;
    for (let round = 0; round < 4; round += 1) {
      const seen = (await countedWrites(cluster.plane)).length;
      const operator = startProcess({ 'leader-elect': 'false' });
      const hasWritten = async () => ((await countedWrites(cluster.plane)).length >= seen + 3 ? true : undefined);
      await until('some writes', hasWritten, { intervalMs: 2 });
      await kill(operator);
    }
    assert.ok((await complete(names)).length < names.length, 'it was killed before it was done');
    const operator = startProcess({ 'leader-elect': 'false' });
    await untilComplete(names);
    await untilQuiet();
    const created = (await countedWrites(cluster.plane)).slice(begun).filter(({ code }) => code === 201);
    const twice = Map.groupBy(created, ({ resource, name }) => `${resource} ${name}`);
    assert.deepEqual(
      [...twice].filter(([, writes]) => writes.length > 1).map(([what]) => what),
      [],
    );
    await kill(operator, 'SIGTERM');
    assert.equal(operator.exitCode, 0);
  });

  test('an operator whose API server is killed goes on when it is back, and writes nothing that is there', async () => {
    const operator = await startOperator();
    await operator.synced;
    await apply(server('before'));
    await untilComplete(['before']);
    await untilQuiet();
    const seen = (await countedWrites(cluster.plane)).length;
    await cluster.plane.restartApiServer();
    await apply(server('since'));
    await untilComplete(['since']);
    await remove('service', 'vmcp-before');
    await untilComplete(['before', 'since']);
    await untilQuiet();
    const writes = (await countedWrites(cluster.plane)).slice(seen).map(({ resource, name }) => `${resource} ${name}`);
    assert.deepEqual(
      writes.filter((write) => !/since/.test(write)),
      ['services vmcp-before'],
    );
    await operator.stop();
  });
});

describe('stopped', () => {
  const holderOf = (): Promise<string> =>
    kubectl(['get', 'lease', 'vmcp-operator', '-n', 'vmcp-system', '-o', 'jsonpath={.spec.holderIdentity}']);

  /** Starts it with work to do, and holds back the answers once it has begun to write. */
  const heldInTheMiddle = async (names: readonly string[]) => {
    await apply(...names.map((name) => server(name)));
    const wire = await wireTo(cluster.plane, cluster.kubeconfig);
    const seen = (await countedWrites(cluster.plane)).length;
    const operator = startProcess({ kubeconfig: wire.kubeconfig });
    const hasBegun = async () => ((await countedWrites(cluster.plane)).length > seen + 6 ? true : undefined);
    await until('some writes', hasBegun, { intervalMs: 2 });
    wire.hold();
    assert.notEqual(await holderOf(), '');
    const exited = once(operator, 'exit');
    operator.kill('SIGTERM');
    return { wire, operator, exited };
  };

  test('SIGTERM lets the reconcile under way come to its end: nothing is left half made, the Lease is free, the exit is 0', async () => {
    const names = Array.from({ length: 24 }, (_, index) => `stopped-${index}`);
    const { wire, operator, exited } = await heldInTheMiddle(names);
    // So long nothing can end: the API server does not answer.
    const first = await Promise.race([exited.then(() => 'exited'), untilQuiet(500).then(() => 'at work')]);
    assert.equal(first, 'at work');
    wire.release();
    await exited;
    await wire.stop();
    assert.equal(operator.exitCode, 0);
    const left = await Promise.all(
      names.map(async (name) => ({ children: (await childrenOf(name)).length, wasReached: await isReported(name) })),
    );
    assert.deepEqual(
      left.filter(({ children, wasReached }) => children !== (wasReached ? 4 : 0)),
      [],
    );
    assert.ok(
      left.some(({ children }) => children === 0),
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
});
