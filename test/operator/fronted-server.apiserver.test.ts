import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { type Named, made } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);

const SERVER: Named = ['mcpserver', 'weather'];
const policies = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
const weather = (spec: object = {}): object =>
  made('MCPServer', 'weather', { image: 'example.test/weather:1', transport: 'streamable-http', ...spec });

const KINDS = 'serviceaccounts,services,networkpolicies,deployments';

const children = async (kinds: string): Promise<readonly string[]> => {
  const text = await cluster.kubectl(['get', kinds, '-l', 'app.kubernetes.io/instance=weather', '-o', 'name']);
  return text
    .split('\n')
    .filter(Boolean)
    .map((name) => name.replace(/-[0-9a-f]{10}$/, '-#'))
    .toSorted();
};

const containersOf = async (name: string): Promise<readonly string[]> => {
  const { spec } = await cluster.get('deployment', name);
  const { template } = spec as { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
  return template.spec.containers.map((container) => container.name);
};

interface Container {
  readonly name: string;
}

const OWN = ['deployment.apps/mcpserver-weather', 'service/mcpserver-weather', 'serviceaccount/mcpserver-weather'];
const FRONTED = [
  'configmap/mcpserver-weather-#',
  'deployment.apps/mcpserver-weather',
  'deployment.apps/mcpserver-weather-backend',
  'networkpolicy.networking.k8s.io/mcpserver-weather-backend',
  'service/mcpserver-weather',
  'service/mcpserver-weather-backend',
  'serviceaccount/mcpserver-weather',
  'serviceaccount/mcpserver-weather-backend',
];

const untilChildren = (wanted: readonly string[], kinds = `${KINDS},configmaps`): Promise<true> =>
  until(`the children to be ${wanted.join(', ')}`, async () =>
    (await children(kinds)).join() === wanted.join() ? true : undefined,
  );

test('an MCPServer that gets clients of its own gets the runtime in front, under the name that it had', async () => {
  await cluster.apply(weather());
  await untilChildren(OWN);
  const { url } = await cluster.untilStatus('its URL', SERVER, (status) => status.url !== undefined);
  await cluster.apply(weather({ authzConfig: policies }));
  await untilChildren(FRONTED);
  assert.deepEqual(await containersOf('mcpserver-weather'), ['vmcp']);
  assert.deepEqual(await containersOf('mcpserver-weather-backend'), ['mcp']);
  assert.equal((await cluster.statusOf(...SERVER)).url, url);
});

test('at rest nothing is written, and a policy that somebody opens is closed', async () => {
  assert.deepEqual(await cluster.writesDuring(() => cluster.kubectl(['annotate', ...SERVER, 'touched=1'])), []);
  const policy: Named = ['networkpolicy', 'mcpserver-weather-backend'];
  const opened = [{ op: 'add', path: '/spec/ingress/-', value: {} }];
  assert.deepEqual(await cluster.writesDuring(() => cluster.patch(policy, 'json', opened)), [
    'patch networkpolicies mcpserver-weather-backend',
  ]);
  const { spec } = await cluster.get(...policy);
  assert.equal((spec as { readonly ingress: readonly object[] }).ingress.length, 1);
  assert.deepEqual(await cluster.writesDuring(cluster.restartOperator), []);
});

test('without clients of its own the runtime goes, and what was behind it', async () => {
  await cluster.apply(weather());
  // A ReplicaSet that a rollback may bring back names the ConfigMap still.
  await untilChildren(OWN, KINDS);
  assert.deepEqual(await containersOf('mcpserver-weather'), ['mcp']);
});
