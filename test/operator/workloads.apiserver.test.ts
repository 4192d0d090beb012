import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { type StatusUnderTest, conditionIn, made, madeServer } from './engine/cluster-user.ts';
import { pretendReady } from './engine/fake-pod.ts';
import { servers } from './engine/operator-under-test.ts';

/** No kubelet runs here: what pods do is written into their status. */
const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, patch, remove, untilStatus, untilQuiet, writesDuring } = cluster;

const phase =
  (wanted: string) =>
  (status: StatusUnderTest): boolean =>
    status.phase === wanted;

const tells =
  (type: string) =>
  (status: StatusUnderTest): boolean =>
    conditionIn(status, type) !== undefined;

const namesOf = async (kinds: string, instance: string, namespace = 'default'): Promise<readonly string[]> => {
  const labelled = ['-l', `app.kubernetes.io/instance=${instance}`, '-n', namespace];
  const text = await kubectl(['get', kinds, ...labelled, '-o', 'name']);
  return text.split('\n').filter(Boolean);
};

const podOf = (instance: string): Promise<string> =>
  until('a pod', async () => (await namesOf('pods', instance))[0]?.slice('pod/'.length));

const replicasOf = async (name: string): Promise<unknown> =>
  ((await get('deployment', name))['spec'] as { readonly replicas?: number }).replicas;

const WEATHER = ['mcpserver', 'weather'] as const;
const weather = { image: 'example.test/weather:1', transport: 'streamable-http', groupRef: { name: 'tools' } };
const applyWeather = (more: object = {}): Promise<unknown> =>
  apply(made('MCPServer', 'weather', { ...weather, ...more }));

test('a server is run: its children are made once, and it is a member that a VirtualMCPServer serves', async () => {
  await apply(made('MCPGroup', 'tools', {}), madeServer('gateway'));
  const writes = await writesDuring(async () => {
    await applyWeather();
    const { url } = await untilStatus('the status', WEATHER);
    assert.equal(url, 'http://mcpserver-weather.default.svc.cluster.local:8080/mcp');
  });
  assert.deepEqual(await namesOf('serviceaccounts,services,deployments', 'weather'), [
    'serviceaccount/mcpserver-weather',
    'service/mcpserver-weather',
    'deployment.apps/mcpserver-weather',
  ]);
  const own = writes.filter((write) => write.endsWith(' mcpserver-weather'));
  assert.deepEqual(own.length, 3, writes.join('\n'));
  const [configMap = ''] = await namesOf('configmaps', 'gateway');
  assert.match(await kubectl(['get', configMap, '-o', 'jsonpath={.data.backends\\.yaml}']), /mcpserver-weather/);
  assert.deepEqual(((await get('mcpgroup', 'tools'))['status'] as { readonly servers: unknown }).servers, ['weather']);
});

test('a ready pod is a ready server', async () => {
  await pretendReady(cluster.plane, await podOf('weather'), '127.44.84.9');
  const status = await untilStatus('phase Ready', WEATHER, phase('Ready'));
  assert.equal(status.readyReplicas, 1);
  await kubectl(['wait', '--for=condition=Ready', 'mcpserver/weather', '--timeout=5s']);
});

test('the count of pods is an autoscaler’s where the manifest is silent, and the manifest’s where it speaks', async () => {
  await kubectl(['scale', 'deployment', 'mcpserver-weather', '--replicas=3']);
  await applyWeather({ args: ['--verbose'] });
  await until('the change', async () =>
    JSON.stringify(await get('deployment', 'mcpserver-weather')).includes('--verbose') ? true : undefined,
  );
  assert.equal(await replicasOf('mcpserver-weather'), 3);
  await applyWeather({ replicas: 2 });
  await until('two', async () => ((await replicasOf('mcpserver-weather')) === 2 ? true : undefined));
  await kubectl(['scale', 'deployment', 'mcpserver-weather', '--replicas=5']);
  await until('two again', async () => ((await replicasOf('mcpserver-weather')) === 2 ? true : undefined));
  await applyWeather();
  await untilQuiet();
  assert.equal(await replicasOf('mcpserver-weather'), 2);
});

test('without pods it is Stopped, and with an image that cannot be pulled it says so until that is mended', async () => {
  await applyWeather({ replicas: 0 });
  await untilStatus('phase Stopped', WEATHER, phase('Stopped'));
  await applyWeather({ replicas: 1, image: 'example.test/nobody:1' });
  const pod = await podOf('weather');
  const waiting = { name: 'mcp', image: 'example.test/nobody:1', imageID: '', ready: false, restartCount: 0 };
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } };
  const status = { phase: 'Pending', containerStatuses: [{ ...waiting, state }] };
  await patch(['pod', pod, '--subresource=status'], 'merge', { status });
  const failed = await untilStatus('phase Failed', WEATHER, phase('Failed'));
  assert.match(failed.message ?? '', /image example\.test\/nobody:1 cannot be pulled/);
  await applyWeather({ replicas: 1 });
  const successor = await until('another pod', async () =>
    (await namesOf('pods', 'weather')).find((name) => name !== `pod/${pod}`)?.slice('pod/'.length),
  );
  await pretendReady(cluster.plane, successor, '127.44.84.9');
  await untilStatus('phase Ready', WEATHER, phase('Ready'));
});

test('drift of any child is repaired, and what is deleted comes back', async () => {
  await patch(['service', 'mcpserver-weather'], 'merge', { spec: { sessionAffinity: 'None' } });
  await remove('serviceaccount', 'mcpserver-weather');
  await kubectl(['set', 'image', 'deployment/mcpserver-weather', 'mcp=example.test/other:1']);
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
  await applyWeather({ serviceAccount: 'default' });
  await until('the end of the account', async () =>
    (await namesOf('serviceaccounts', 'weather')).length === 0 ? true : undefined,
  );
});

test('what the API server refuses is a condition with its words, and the phase stays one that it takes', async () => {
  const podTemplateSpec = { spec: { containers: [{ name: 'mcp', imagePullPolicy: 'Sometimes' }] } };
  await apply(made('MCPServer', 'refused', { ...weather, podTemplateSpec }));
  const status = await untilStatus('the refusal', ['mcpserver', 'refused'], tells('ChildRefused'));
  assert.equal(status.phase, 'Failed');
  assert.match(conditionIn(status, 'ChildRefused')?.message ?? '', /Sometimes/);
  await applyWeather({ podTemplateSpec, serviceAccount: 'default' });
  const serving = await untilStatus('the refusal', WEATHER, tells('ChildRefused'));
  assert.equal(serving.phase, 'Ready');
  await remove('mcpserver', 'refused');
  await applyWeather();
  await untilStatus('its end', WEATHER, (each) => !tells('ChildRefused')(each));
});

const MINILM = ['embeddingserver', 'minilm'] as const;

/** Ends claims that are being deleted, as the controller that protects them does once no pod has them. */
const freeClaims = async (): Promise<void> => {
  const claim = await until('a claim that is being deleted', async () => {
    const ended = await kubectl([
      'get',
      'pvc',
      '-o',
      'jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}',
    ]);
    return ended === '' ? undefined : ended;
  });
  await kubectl(['patch', 'pvc', claim, '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
};

test('an EmbeddingServer is run with a volume for its model, whose size cannot change', async () => {
  await apply(made('EmbeddingServer', 'minilm', { modelCache: { size: '1024Mi' } }));
  await untilStatus('phase Pending', MINILM, phase('Pending'));
  await until('the volume claim', async () => (await namesOf('pvc', 'minilm'))[0]);
  await pretendReady(cluster.plane, await podOf('minilm'), '127.44.84.9');
  await untilStatus('phase Ready', MINILM, phase('Ready'));
  await apply(made('EmbeddingServer', 'minilm', { modelCache: { size: '2Gi' }, args: ['--auto-truncate'] }));
  const fixed = await untilStatus('what is told', MINILM, tells('ModelCacheFixed'));
  assert.equal(fixed.phase, 'Ready');
  assert.match(conditionIn(fixed, 'ModelCacheFixed')?.message ?? '', /has 1Gi ReadWriteOnce, .* asks for 2Gi/);
  assert.match(JSON.stringify(await get('statefulset', 'embeddingserver-minilm')), /--auto-truncate/);
  await remove('statefulset', 'embeddingserver-minilm');
  await untilStatus('its end', MINILM, (each) => !tells('ModelCacheFixed')(each));
  assert.match(JSON.stringify(await get('statefulset', 'embeddingserver-minilm')), /"storage":"2Gi"/);
  await freeClaims();
  assert.match(await podOf('minilm'), /^embeddingserver-minilm-0$/);
});

test('nothing is written at rest, nor by an operator that starts anew', async () => {
  assert.deepEqual(await writesDuring(cluster.restartOperator, 5000), []);
});

test('a deleted server takes everything with it, the volumes of its model too', async () => {
  await remove('mcpserver', 'weather');
  await remove('embeddingserver', 'minilm');
  const left = async (): Promise<readonly string[]> =>
    (await Promise.all(['weather', 'minilm'].map((name) => namesOf('all,serviceaccounts', name)))).flat();
  await until('its children to go', async () => ((await left()).length === 0 ? true : undefined));
  await until('the volume to be given up', async () => {
    const claims = await kubectl(['get', 'pvc', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}']);
    const all = (await namesOf('pvc', 'minilm')).length;
    return claims.split(' ').filter(Boolean).length === all ? true : undefined;
  });
});

test('no reconcile failed and no watch was interrupted on the way', () => {
  assert.deepEqual(
    cluster.operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});

test('a StatefulSet that makes no pod says why in the status of its resource, until it makes one', async () => {
  await kubectl(['create', 'namespace', 'tight']);
  await kubectl(['create', 'quota', 'none', '--hard=pods=0', '-n', 'tight']);
  // The controller that counts does not run here.
  const counted = { status: { hard: { pods: '0' }, used: { pods: '0' } } };
  await kubectl([
    'patch',
    'quota',
    'none',
    '-n',
    'tight',
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify(counted),
  ]);
  const inTight = (object: object): object => ({ ...object, metadata: { ...metadataOf(object), namespace: 'tight' } });
  const stdio = { image: 'example.test/weather:1', transport: 'stdio', groupRef: { name: 'tools' } };
  await apply(inTight(made('EmbeddingServer', 'texts', {})), inTight(made('MCPServer', 'shell', stdio)));
  for (const [kind, name] of [
    ['embeddingserver', 'texts'],
    ['mcpserver', 'shell'],
  ] as const) {
    const placed = [kind, name, 'tight'] as const;
    const status = await untilStatus('the reason', placed, phase('Failed'));
    assert.match(status.message ?? '', /^pods cannot start: Create Pod .* exceeded quota: none, requested: pods=1/);
    assert.equal(conditionIn(status, 'Ready')?.reason, 'PodsCannotStart');
    const count = (await namesOf('statefulsets', name, 'tight')).length;
    assert.equal(count, 1);
  }
  await kubectl(['delete', 'quota', 'none', '-n', 'tight']);
  // The controller of StatefulSets waits longer each time; a touch makes it look at once.
  await kubectl(['annotate', 'statefulset', '--all', 'touched=1', '-n', 'tight']);
  await untilStatus('pods', ['mcpserver', 'shell', 'tight'], phase('Pending'));
});

const metadataOf = (object: object): object => (object as KubeObject).metadata;
