import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpServer } from '../../../../operator/kinds/mcp-server.ts';
import { type KubeObject, keyOf, keyText } from '../../../../operator/object.ts';
import { type Contract, newContract } from '../../../../operator/plan/contract.ts';
import { containerObjects } from '../../../../operator/plan/mcp-server/container.ts';
import { mcpServerSpec } from '../../../../operator/plan/mcp-server/spec.ts';
import type { Plan } from '../../../../operator/plan/plan.ts';
import { planServer } from '../../../../operator/plan/server/plan-server.ts';
import type { Settings } from '../../../../operator/plan/settings.ts';
import { childOf, labelsOfChild } from '../../../../operator/plan/workload/child.ts';
import { resolveServer } from '../../../../operator/read/resolve.ts';
import { objectsSource } from '../../../../operator/read/source.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from '../golden.ts';
import { made } from '../made.ts';
import { SERVER_KEY, condition, group, server, statusOf } from '../plan-of-demo.ts';

const weather = (spec: object = {}): KubeObject =>
  made('MCPServer', 'weather', { image: 'example/weather:1', transport: 'streamable-http', ...spec }, { uid: 'u1' });

interface PlanOptions {
  readonly settings?: Settings;
  readonly contract?: Contract;
}

const planOf = (objects: readonly KubeObject[], { settings = DEFAULT_SETTINGS, contract }: PlanOptions = {}): Plan => {
  const [server] = objects;
  assert.ok(server);
  const kind = mcpServer(contract ?? newContract());
  const bundle = kind.resolve(objectsSource(objects), keyOf(server), DEFAULT_SETTINGS.mac);
  assert.ok(bundle);
  return kind.plan(bundle, settings);
};

const named = (kind: string, spec: object = {}): KubeObject => ({
  apiVersion: kind === 'Secret' ? 'v1' : 'vmcp.dev/v1beta1',
  kind,
  metadata: { name: 'it', namespace: 'default' },
  spec,
});

const REFERENCES: readonly (readonly [type: string, naming: object, good: KubeObject])[] = [
  ['Group', { groupRef: { name: 'it' } }, named('MCPGroup')],
  ['Secret', { secrets: [{ name: 'it', key: 'token' }] }, named('Secret')],
  [
    'ExternalAuthConfig',
    { externalAuthConfigRef: { name: 'it' } },
    named('MCPExternalAuthConfig', { type: 'unauthenticated' }),
  ],
];

for (const [type, naming, good] of REFERENCES) {
  test(`${type}: found, missing and in another namespace are reported, and none holds the pods up`, () => {
    const contract = everythingBuilt();
    const elsewhere = { ...good, metadata: { ...good.metadata, namespace: 'elsewhere' } };
    const reasons = [[good], [], [elsewhere]].map((objects) => {
      const plan = planOf([weather(naming), ...objects], { contract });
      assert.ok(plan.objects);
      return condition(plan, `${type}Resolved`)?.reason;
    });
    assert.deepEqual(reasons, [`${type}Found`, `${type}NotFound`, `${type}NotFound`]);
  });

  test(`${type}: its change is looked at by the servers that name it`, () => {
    const source = objectsSource([weather(naming), good]);
    assert.deepEqual(mcpServer().affectedBy(source, good).map(keyText), ['MCPServer/default/weather']);
    assert.deepEqual(mcpServer().affectedBy(objectsSource([weather()]), good), []);
  });
}

test('how others will authenticate to it holds no pod up, and they wait until they can', () => {
  const notYet = { reason: 'NotSupportedYet', message: 'not supported yet' } as const;
  const contract: Contract = { ...newContract(), backendRefusals: ({ strategy }) => (strategy ? [notYet] : []) };
  const token = named('MCPExternalAuthConfig', {
    type: 'bearerToken',
    bearerToken: { tokenSecretRef: { name: 'keys', key: 'token' } },
  });
  const member = weather({ groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'it' } });
  const own = planOf([member, token], { contract });
  assert.equal(condition(own, 'Valid')?.status, 'True');
  assert.deepEqual(own.objects, planOf([weather()]).objects);
  const fronted = { rateLimiting: { shared: { maxTokens: 1, refillPeriod: '1s' } } };
  const spec = { ...fronted, groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'it' } };
  assert.equal(condition(planOf([weather(spec), token], { contract }), 'Valid')?.status, 'True');
  const bundle = resolveServer(objectsSource([server(), group(), member, token]), SERVER_KEY);
  assert.ok(bundle);
  const over = planServer(bundle, { settings: DEFAULT_SETTINGS, contract });
  assert.equal(condition(over, 'BackendsWithheld')?.reason, 'NotSupportedYet');
  assert.doesNotMatch(over.config?.['backends.yaml'] ?? '', /url: /);
});

test('where no VirtualMCPServer finds it, how they authenticate to it is reported to be without effect', () => {
  const ref = { externalAuthConfigRef: { name: 'it' } };
  assert.equal(condition(planOf([weather(ref)]), 'ExternalAuthConfigIgnored')?.reason, 'NotInGroup');
  const member = planOf([weather({ ...ref, groupRef: { name: 'tools' } })]);
  assert.equal(condition(member, 'ExternalAuthConfigIgnored'), undefined);
});

test('the container behind a vmcp runtime has a name and a label of its own', () => {
  const server = weather({ replicas: 2 });
  const child = childOf(server, 'backend');
  const objects = containerObjects(mcpServerSpec(server), child);
  assert.deepEqual(
    objects.map(({ kind, metadata }) => [kind, metadata.name]),
    ['ServiceAccount', 'Service', 'Deployment'].map((kind) => [kind, 'mcpserver-weather-backend']),
  );
  const labels = { ...labelsOfChild(childOf(server)), 'app.kubernetes.io/component': 'mcpserver-backend' };
  for (const { metadata } of objects) assert.deepEqual(metadata.labels, labels);
  const service = objects.find(({ kind }) => kind === 'Service');
  assert.partialDeepStrictEqual(service, { spec: { selector: labels } });
});

test('a Deployment of that name which belongs to another owner says nothing of this server', () => {
  const foreign: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'mcpserver-weather', namespace: 'default' },
    status: { readyReplicas: 3 },
  };
  assert.equal(statusOf(planOf([weather(), foreign]))['phase'], 'Pending');
});

test('the Role of its bridges names no pods that a Deployment of that name has', () => {
  const stdio = weather({ transport: 'stdio' });
  const before = planOf([weather()]).objects?.find(({ kind }) => kind === 'Deployment');
  assert.ok(before);
  const ownerReferences = (before.metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: true }));
  const live = { ...before, metadata: { ...before.metadata, ownerReferences }, spec: { replicas: 3 } };
  const role = planOf([stdio, live]).objects?.find(({ kind }) => kind === 'Role');
  assert.ok(role);
  const [attach] = role['rules'] as readonly { readonly resourceNames: readonly string[] }[];
  assert.deepEqual(attach?.resourceNames, ['mcpserver-weather-0']);
});

test('without a cluster it runs where it is mapped to, or not at all', () => {
  const local = { filesDirectory: '/tmp', ports: {}, backends: {} };
  const unmapped = planOf([weather()], { settings: { ...DEFAULT_SETTINGS, local } });
  assert.deepEqual([unmapped.objects, statusOf(unmapped)['phase']], [[], 'Pending']);
  assert.match(condition(unmapped, 'NeedsCluster')?.message ?? '', /--backend weather=URL/);
  const backends = { weather: 'http://localhost:3001/mcp' };
  const mapped = planOf([weather()], { settings: { ...DEFAULT_SETTINGS, local: { ...local, backends } } });
  assert.deepEqual([mapped.objects, statusOf(mapped)['url']], [[], backends.weather]);
});

test('where pods answer follows from their template, and from no annotation that any user could write', () => {
  const refused = { podTemplateSpec: { spec: { containers: 5 } } };
  const urlBehind = (given: object, notes: Readonly<Record<string, string>>, newest: object): unknown => {
    const made = planOf([weather(given)]).objects?.find(({ kind }) => kind === 'Deployment');
    assert.ok(made);
    const ownerReferences = (made.metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: true }));
    const live = { ...made, metadata: { ...made.metadata, uid: 'd', ownerReferences, annotations: notes } };
    return statusOf(planOf([weather({ ...newest, ...refused }), live]))['url'];
  };
  const [http, sse] = [{ transport: 'streamable-http' }, { transport: 'sse' }];
  assert.match(String(urlBehind(sse, {}, http)), /\/sse$/);
  assert.match(String(urlBehind(http, { 'vmcp.dev/path': '/sse' }, http)), /\/mcp$/);
  const inItsOwnWords = { ...sse, env: [{ name: 'MCP_TRANSPORT', value: 'http+sse' }] };
  assert.match(String(urlBehind(inItsOwnWords, {}, sse)), /\/sse$/);
});
