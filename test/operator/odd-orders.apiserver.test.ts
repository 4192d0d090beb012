import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { type ControlPlane, startControlPlane, until } from '../cluster/index.ts';
import { pretendReady } from './engine/fake-pod.ts';
import {
  type OperatorUnderTest,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';

/** Rows of `kinds/odd-orders.test.ts` as a real API server and its controllers play them. */
let cluster: ControlPlane;
let operator: OperatorUnderTest | undefined;

before(async () => {
  cluster = await startControlPlane();
  const kubeconfig = await installOperator(cluster, servers);
  operator = await startOperatorUnderTest(kubeconfig, servers);
  await operator.synced;
});
after(async () => {
  await operator?.stop();
  await cluster.stop();
});

interface Status {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly readyReplicas?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

const apply = (...objects: readonly object[]): Promise<string> =>
  cluster.kubectl(
    ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );

const weather = (spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPServer',
  metadata: { name: 'weather' },
  spec: { image: 'example.test/weather:1', ...spec },
});

const untilStatus = (what: string, holds: (status: Status) => boolean): Promise<Status> =>
  until(what, async () => {
    const { status = {} } = JSON.parse(
      await cluster.kubectl(['get', 'mcpserver', 'weather', '-o', 'json']),
    ) as KubeObject & {
      readonly status?: Status;
    };
    return holds(status) ? status : undefined;
  });

const namesOf = async (kinds: string): Promise<readonly string[]> => {
  const text = await cluster.kubectl(['get', kinds, '-l', 'app.kubernetes.io/instance=weather', '-o', 'name']);
  return text.split('\n').filter(Boolean);
};

const has = ({ conditions = [] }: Status, wanted: string): boolean =>
  conditions.some(({ type, status }) => type === wanted && status === 'True');

test('a stdio server that runs', async () => {
  await apply(weather({ transport: 'stdio' }));
  const pod = await until('a pod', async () => (await namesOf('pods'))[0]?.slice('pod/'.length));
  await pretendReady(cluster, pod, '127.44.86.2');
  await untilStatus('phase Ready', ({ phase }) => phase === 'Ready');
});

test('of a change of transport that the API server refuses nothing comes: what runs stays, with its rights, and status tells', async () => {
  const podTemplateSpec = { spec: { containers: [{ name: 'mcp', imagePullPolicy: 'Sometimes' }] } };
  await apply(weather({ transport: 'sse', podTemplateSpec }));
  const status = await untilStatus('the refusal', (each) => has(each, 'ChildRefused'));
  await untilQuiet(cluster);
  assert.deepEqual(await namesOf('deployments,statefulsets,rolebindings'), [
    'statefulset.apps/mcpserver-weather',
    'rolebinding.rbac.authorization.k8s.io/mcpserver-weather',
  ]);
  assert.deepEqual([status.phase, status.readyReplicas], ['Ready', 1]);
  assert.equal(status.url, 'http://mcpserver-weather.default.svc.cluster.local:8080/mcp');
});

test('once it is accepted nothing of the old way stays', async () => {
  await apply(weather({ transport: 'sse' }));
  await untilStatus('the new way', ({ url = '' }) => url.endsWith('/sse'));
  await untilQuiet(cluster);
  assert.deepEqual(await namesOf('deployments,statefulsets,rolebindings,roles'), ['deployment.apps/mcpserver-weather']);
  const status = await untilStatus('its pods', ({ readyReplicas }) => readyReplicas === 0);
  assert.equal(status.phase, 'Pending');
});
