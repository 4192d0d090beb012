import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import {
  countedWrites,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';

let cluster: ControlPlane;
let kubeconfig: string;

before(async () => {
  cluster = await startControlPlane();
  kubeconfig = await installOperator(cluster, servers);
});
after(() => cluster.stop());

const group = { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} };

const server = (name: string): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'VirtualMCPServer',
  metadata: { name },
  spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, replicas: 0 },
});

const apply = (...items: readonly object[]): Promise<string> =>
  cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

/** Those of the servers that have all their children and a status of their newest generation. */
const complete = async (names: readonly string[]): Promise<readonly string[]> => {
  const text = await cluster.kubectl(['get', 'vmcp,sa,svc,cm,deploy', '-o', 'json']);
  const { items } = JSON.parse(text) as { readonly items: readonly KubeObject[] };
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

/** The operator as a process of its own, one write after the other. */
const startProcess = (): ChildProcess => {
  const program = join(import.meta.dirname, '../../operator/main.ts');
  const flags = {
    kubeconfig,
    image: 'example.test/vmcp:1',
    'operator-namespace': 'vmcp-system',
    workers: '1',
    'leader-elect': 'false',
    'health-port': '0',
    'log-level': 'error',
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return spawn(process.execPath, [program, 'run', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
};

test('an operator that is killed between two writes goes on where it was, and makes nothing twice', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `killed-${index}`);
  await apply(group, ...names.map(server));
  for (let round = 0; round < 4; round += 1) {
    const seen = (await countedWrites(cluster)).length;
    const operator = startProcess();
    const hasWritten = async () => ((await countedWrites(cluster)).length >= seen + 3 ? true : undefined);
    await until('some writes', hasWritten, { intervalMs: 2 });
    operator.kill('SIGKILL');
    await once(operator, 'exit');
  }
  assert.ok((await complete(names)).length < names.length, 'it was killed before it was done');
  const operator = startProcess();
  await untilComplete(names);
  await untilQuiet(cluster);
  const made = (await countedWrites(cluster)).filter(({ code }) => code === 201);
  const twice = Map.groupBy(made, ({ resource, name }) => `${resource} ${name}`);
  assert.deepEqual(
    [...twice].filter(([, writes]) => writes.length > 1).map(([what]) => what),
    [],
  );
  operator.kill('SIGTERM');
  await once(operator, 'exit');
  assert.equal(operator.exitCode, 0);
});

test('an operator whose API server is killed goes on when it is back, and writes nothing that is there', async () => {
  const operator = await startOperatorUnderTest(kubeconfig, servers);
  await operator.synced;
  await apply(group, server('before'));
  await untilComplete(['before']);
  await untilQuiet(cluster);
  const seen = (await countedWrites(cluster)).length;
  await cluster.restartApiServer();
  await apply(server('since'));
  await untilComplete(['since']);
  await cluster.kubectl(['delete', 'service', 'vmcp-before']);
  await untilComplete(['before', 'since']);
  await untilQuiet(cluster);
  const writes = (await countedWrites(cluster)).slice(seen).map(({ resource, name }) => `${resource} ${name}`);
  assert.deepEqual(
    writes.filter((write) => !/since/.test(write)),
    ['services vmcp-before'],
  );
  await operator.stop();
});
