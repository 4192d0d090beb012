import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import type { JWK } from 'jose';
import { parse } from 'yaml';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { made, verdictIn } from './engine/cluster-user.ts';
import { pretendReady, serveReport } from './engine/fake-pod.ts';
import { servers } from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';
import { report } from './plan/plan-of-demo.ts';

const cluster = clusterUnderTest({ ...servers, kinds: reconciledKinds(everythingBuilt()) });

const SERVER = ['mcpserver', 'weather'] as const;
const callers = {
  oidcConfigRef: { name: 'idp', audience: 'weather' },
  authzConfig: { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } },
};
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

/** Its children are there before the last of them is changed. */
const untilContainer = (deployment: string, wanted: string): Promise<true> =>
  until(`${wanted} in ${deployment}`, async () =>
    (await containersOf(deployment)).join() === wanted ? true : undefined,
  );

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
  const issuer = { type: 'inline', inline: { issuer: 'https://idp.example.com' } };
  await cluster.apply(made('MCPOIDCConfig', 'idp', issuer), weather(callers));
  await untilChildren(FRONTED);
  await untilContainer('mcpserver-weather', 'vmcp');
  assert.deepEqual(await containersOf('mcpserver-weather-backend'), ['mcp']);
  assert.equal((await cluster.statusOf(...SERVER)).url, url);
});

/** Loopback addresses of their own, so that the fixed management port is free. */
const [FRONT, CONTAINER] = ['127.44.84.11', '127.44.84.12'] as const;

const podOf = (selector: string): Promise<string> =>
  until(`a pod with ${selector}`, async () => {
    const [first] = (await cluster.kubectl(['get', 'pods', '-l', selector, '-o', 'name'])).split('\n');
    return first === '' ? undefined : first?.slice('pod/'.length);
  });

test('the runtime in front is asked for its status, with a token for this resource, and the container never', async (t) => {
  const [configMap] = await cluster.childrenOf('weather', 'configmap');
  const { 'config.yaml': text = '' } = (configMap?.['data'] ?? {}) as Readonly<Record<string, string>>;
  const { management } = parse(text) as {
    readonly management: { readonly audience: string; readonly operatorKeys: readonly JWK[] };
  };
  assert.equal(management.audience, (await cluster.get(...SERVER)).metadata.uid);
  const trust = { keys: management.operatorKeys, audience: management.audience };
  const front = await serveReport(FRONT, trust, report({ weather: 'ready' }));
  const asked: string[] = [];
  const stranger = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  }).listen(4484, CONTAINER);
  t.after(() => Promise.all([front.stop(), new Promise((resolve) => stranger.close(resolve))]));
  await pretendReady(cluster.plane, await podOf('app.kubernetes.io/component=mcpserver-backend'), CONTAINER);
  // A pod of the container from before is there, too.
  await pretendReady(cluster.plane, await podOf('vmcp.dev/runtime=true'), FRONT);
  const ready = await cluster.untilStatus('Ready', SERVER, ({ phase }) => phase === 'Ready');
  assert.equal(verdictIn(ready, 'BackendReachable'), 'True BackendAnswers');
  assert.match(JSON.stringify((await cluster.get(...SERVER))['status']), /"readyReplicas":1/);
  front.report = report({ weather: 'unavailable' });
  await cluster.untilStatus(
    'a container that is away',
    SERVER,
    (status) => verdictIn(status, 'BackendReachable') === 'False BackendUnavailable',
  );
  assert.deepEqual(asked, []);
});

test('at rest nothing is written, and a policy that another writer opens is closed', async () => {
  // The pod of the last test has gone silent, which is the last news.
  await cluster.untilStatus(
    'silence',
    SERVER,
    (status) => verdictIn(status, 'StatusReachable') === 'False PodsUnreachable',
  );
  assert.deepEqual(await cluster.writesDuring(() => cluster.kubectl(['annotate', ...SERVER, 'touched=1'])), []);
  const policy = ['networkpolicy', 'mcpserver-weather-backend'] as const;
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
  await untilContainer('mcpserver-weather', 'mcp');
});
