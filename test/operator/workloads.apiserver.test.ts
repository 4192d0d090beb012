import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import { pretendReady } from './engine/fake-pod.ts';
import {
  countedWrites,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';
import type { OperatorUnderTest } from './engine/operator-under-test.ts';

/** No kubelet runs here: what pods do is written into their status. */
let cluster: ControlPlane;
let kubeconfig: string;
let operator: OperatorUnderTest | undefined;

before(async () => {
  cluster = await startControlPlane();
  kubeconfig = await installOperator(cluster, servers);
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
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

const apply = (kind: string, name: string, spec: object): Promise<string> =>
  cluster.kubectl(
    ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    JSON.stringify({ apiVersion: 'vmcp.dev/v1beta1', kind, metadata: { name }, spec }),
  );

const get = async (kind: string, name: string): Promise<KubeObject> =>
  JSON.parse(await cluster.kubectl(['get', kind, name, '-o', 'json'])) as KubeObject;

const patch = (kind: string, name: string, change: object, ...more: readonly string[]): Promise<string> =>
  cluster.kubectl(['patch', kind, name, '--type=merge', '-p', JSON.stringify(change), ...more]);

const untilStatus = (
  [kind, name]: readonly [string, string],
  what: string,
  holds: (status: Status) => boolean,
): Promise<Status> =>
  until(what, async () => {
    const status: Status = (await get(kind, name))['status'] ?? {};
    return holds(status) ? status : undefined;
  });

const phase = (wanted: string) => (status: Status) => status.phase === wanted;

const conditionOf = ({ conditions }: Status, wanted: string) => conditions?.find(({ type }) => type === wanted);

const namesOf = async (kinds: string, instance: string): Promise<readonly string[]> => {
  const text = await cluster.kubectl(['get', kinds, '-l', `app.kubernetes.io/instance=${instance}`, '-o', 'name']);
  return text.split('\n').filter(Boolean);
};

const podOf = (instance: string): Promise<string> =>
  until('a pod', async () => (await namesOf('pods', instance))[0]?.slice('pod/'.length));

const replicasOf = async (name: string): Promise<unknown> =>
  ((await get('deployment', name))['spec'] as { readonly replicas?: number }).replicas;

const writesSince = async (count: number): Promise<readonly string[]> =>
  (await countedWrites(cluster))
    .slice(count)
    .map(({ verb, resource, subresource, name }) => `${verb} ${resource}${subresource && `/${subresource}`} ${name}`);

const WEATHER = ['mcpserver', 'weather'] as const;
const weather = { image: 'example.test/weather:1', transport: 'streamable-http', groupRef: { name: 'tools' } };

test('a server is run: its children are made once, and it is a member that a VirtualMCPServer serves', async () => {
  await apply('MCPGroup', 'tools', {});
  await apply('MCPGroup', 'tools', {});
  await apply('VirtualMCPServer', 'gateway', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } });
  await untilQuiet(cluster);
  const count = (await countedWrites(cluster)).length;
  await apply('MCPServer', 'weather', weather);
  const status = await untilStatus(WEATHER, 'the status', ({ observedGeneration }) => observedGeneration === 1);
  assert.equal(status.url, 'http://mcpserver-weather.default.svc.cluster.local:8080/mcp');
  await untilQuiet(cluster);
  assert.deepEqual(await namesOf('serviceaccounts,services,deployments', 'weather'), [
    'serviceaccount/mcpserver-weather',
    'service/mcpserver-weather',
    'deployment.apps/mcpserver-weather',
  ]);
  const writes = await writesSince(count);
  const own = writes.filter((write) => write.endsWith(' mcpserver-weather'));
  assert.deepEqual(own.length, 3, writes.join('\n'));
  const [configMap = ''] = await namesOf('configmaps', 'gateway');
  assert.match(
    await cluster.kubectl(['get', configMap, '-o', 'jsonpath={.data.backends\\.yaml}']),
    /mcpserver-weather/,
  );
  assert.deepEqual(((await get('mcpgroup', 'tools'))['status'] as { readonly servers: unknown }).servers, ['weather']);
});

test('a ready pod is a ready server', async () => {
  await pretendReady(cluster, await podOf('weather'), '127.44.84.9');
  const status = await untilStatus(WEATHER, 'phase Ready', phase('Ready'));
  assert.equal(status.readyReplicas, 1);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'mcpserver/weather', '--timeout=5s']);
});

test('the count of pods is an autoscaler’s where the manifest is silent, and the manifest’s where it speaks', async () => {
  await cluster.kubectl(['scale', 'deployment', 'mcpserver-weather', '--replicas=3']);
  await apply('MCPServer', 'weather', { ...weather, args: ['--verbose'] });
  await until('the change', async () =>
    JSON.stringify(await get('deployment', 'mcpserver-weather')).includes('--verbose') ? true : undefined,
  );
  assert.equal(await replicasOf('mcpserver-weather'), 3);
  await apply('MCPServer', 'weather', { ...weather, replicas: 2 });
  await until('two', async () => ((await replicasOf('mcpserver-weather')) === 2 ? true : undefined));
  await cluster.kubectl(['scale', 'deployment', 'mcpserver-weather', '--replicas=5']);
  await until('two again', async () => ((await replicasOf('mcpserver-weather')) === 2 ? true : undefined));
  await apply('MCPServer', 'weather', weather);
  await untilQuiet(cluster);
  assert.equal(await replicasOf('mcpserver-weather'), 2);
});

test('without pods it is Stopped, and with an image that nobody can pull it says so until that is mended', async () => {
  await apply('MCPServer', 'weather', { ...weather, replicas: 0 });
  await untilStatus(WEATHER, 'phase Stopped', phase('Stopped'));
  await apply('MCPServer', 'weather', { ...weather, replicas: 1, image: 'example.test/nobody:1' });
  const pod = await podOf('weather');
  const waiting = { name: 'mcp', image: 'example.test/nobody:1', imageID: '', ready: false, restartCount: 0 };
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } };
  const status = { phase: 'Pending', containerStatuses: [{ ...waiting, state }] };
  await patch('pod', pod, { status }, '--subresource=status');
  const failed = await untilStatus(WEATHER, 'phase Failed', phase('Failed'));
  assert.match(failed.message ?? '', /image example\.test\/nobody:1 cannot be pulled/);
  await apply('MCPServer', 'weather', { ...weather, replicas: 1 });
  const successor = await until('another pod', async () =>
    (await namesOf('pods', 'weather')).find((name) => name !== `pod/${pod}`)?.slice('pod/'.length),
  );
  await pretendReady(cluster, successor, '127.44.84.9');
  await untilStatus(WEATHER, 'phase Ready', phase('Ready'));
});

test('drift of any child is repaired, and what is deleted comes back', async () => {
  await patch('service', 'mcpserver-weather', { spec: { sessionAffinity: 'None' } });
  await cluster.kubectl(['delete', 'serviceaccount', 'mcpserver-weather']);
  await cluster.kubectl(['set', 'image', 'deployment/mcpserver-weather', 'mcp=example.test/other:1']);
  await until('the Service', async () =>
    ((await get('service', 'mcpserver-weather'))['spec'] as { readonly sessionAffinity: string }).sessionAffinity ===
    'ClientIP'
      ? true
      : undefined,
  );
  await until('the account', () => get('serviceaccount', 'mcpserver-weather').catch(() => undefined));
  await until('the image', async () =>
    JSON.stringify((await get('deployment', 'mcpserver-weather'))['spec']).includes('weather:1') ? true : undefined,
  );
});

test('an account that the manifest names takes the place of the managed one, which goes', async () => {
  await apply('MCPServer', 'weather', { ...weather, serviceAccount: 'default' });
  await until('the end of the account', async () =>
    (await namesOf('serviceaccounts', 'weather')).length === 0 ? true : undefined,
  );
});

test('what the API server refuses is a condition with its words, and the phase stays one that it takes', async () => {
  const podTemplateSpec = { spec: { containers: [{ name: 'mcp', imagePullPolicy: 'Sometimes' }] } };
  await apply('MCPServer', 'refused', { ...weather, podTemplateSpec });
  const status = await untilStatus(['mcpserver', 'refused'], 'the refusal', (each) =>
    Boolean(conditionOf(each, 'ChildRefused')),
  );
  assert.equal(status.phase, 'Failed');
  assert.match(conditionOf(status, 'ChildRefused')?.message ?? '', /Sometimes/);
  await apply('MCPServer', 'weather', { ...weather, podTemplateSpec, serviceAccount: 'default' });
  const serving = await untilStatus(WEATHER, 'the refusal', (each) => Boolean(conditionOf(each, 'ChildRefused')));
  assert.equal(serving.phase, 'Ready');
  await cluster.kubectl(['delete', 'mcpserver', 'refused']);
  await apply('MCPServer', 'weather', weather);
  await untilStatus(WEATHER, 'its end', (each) => conditionOf(each, 'ChildRefused') === undefined);
});

const MINILM = ['embeddingserver', 'minilm'] as const;

test('an EmbeddingServer is run with a volume for its model, whose size cannot change', async () => {
  await apply('EmbeddingServer', 'minilm', { modelCache: { size: '1024Mi' } });
  await untilStatus(MINILM, 'phase Pending', phase('Pending'));
  await until('the volume claim', async () => (await namesOf('pvc', 'minilm'))[0]);
  await pretendReady(cluster, await podOf('minilm'), '127.44.84.9');
  await untilStatus(MINILM, 'phase Ready', phase('Ready'));
  await apply('EmbeddingServer', 'minilm', { modelCache: { size: '2Gi' }, args: ['--auto-truncate'] });
  const fixed = await untilStatus(MINILM, 'what is told', (each) => Boolean(conditionOf(each, 'ModelCacheFixed')));
  assert.equal(fixed.phase, 'Ready');
  assert.match(conditionOf(fixed, 'ModelCacheFixed')?.message ?? '', /has 1Gi ReadWriteOnce, .* asks for 2Gi/);
  assert.match(JSON.stringify(await get('statefulset', 'embeddingserver-minilm')), /--auto-truncate/);
  await cluster.kubectl(['delete', 'statefulset', 'embeddingserver-minilm']);
  await untilStatus(MINILM, 'its end', (each) => conditionOf(each, 'ModelCacheFixed') === undefined);
  assert.match(JSON.stringify(await get('statefulset', 'embeddingserver-minilm')), /"storage":"2Gi"/);
});

test('nothing is written at rest, nor by an operator that starts anew', async () => {
  await untilQuiet(cluster, 3000);
  const count = (await countedWrites(cluster)).length;
  await operator?.stop();
  operator = await startOperatorUnderTest(kubeconfig, servers);
  await operator.synced;
  await untilQuiet(cluster, 5000);
  assert.deepEqual(await writesSince(count), []);
});

test('a deleted server takes everything with it, the volumes of its model too', async () => {
  await cluster.kubectl(['delete', 'mcpserver', 'weather']);
  await cluster.kubectl(['delete', 'embeddingserver', 'minilm']);
  const left = async (): Promise<readonly string[]> =>
    (await Promise.all(['weather', 'minilm'].map((name) => namesOf('all,serviceaccounts', name)))).flat();
  await until('its children to go', async () => ((await left()).length === 0 ? true : undefined));
  await until('the volume to be given up', async () => {
    const claims = await cluster.kubectl(['get', 'pvc', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}']);
    const all = (await namesOf('pvc', 'minilm')).length;
    return claims.split(' ').filter(Boolean).length === all ? true : undefined;
  });
});

test('no reconcile failed and no watch was interrupted on the way', () => {
  assert.deepEqual(
    operator?.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
