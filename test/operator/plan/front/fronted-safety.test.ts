import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../../operator/api/client.ts';
import { mcpServer } from '../../../../operator/kinds/mcp-server.ts';
import { virtualMcpServer } from '../../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyOf, keyText } from '../../../../operator/object.ts';
import { objectsSource } from '../../../../operator/read/source.ts';
import { ApplyBackoff } from '../../../../operator/write/apply-backoff.ts';
import { applyChildren } from '../../../../operator/write/apply.ts';
import { ServerMutations } from '../../../../operator/write/server-mutations.ts';
import { withApplyNew } from '../../write/apply-new.ts';
import {
  KEY,
  UID,
  answering,
  container,
  deployment,
  embedded,
  issuer,
  limited,
  oidc,
  openService,
  plan,
  readyPod,
  runtime,
  server,
  up,
} from '../fronted-server-objects.ts';
import { made } from '../made.ts';
import { condition, group, server as virtualServer, statusOf } from '../plan-of-demo.ts';
import { planOf, planWith } from '../plan-with-everything-built.ts';

const behind = (owner: string, uid: string, controller = true): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'mcpserver-weather-backend',
    namespace: 'default',
    uid: 'service',
    ownerReferences: [{ apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPServer', name: owner, uid, controller }],
  },
});
const stranger = behind('weather-backend', 'another');
/** Its own, of which somebody edited the rest of the reference: it is repaired. */
const edited = behind('weather', UID, false);
const withLogin = server({ ...oidc, authServerRef: { name: 'own' } });

test('the front contacts no backend where the name of its container belongs to another MCPServer', () => {
  const misled = plan([withLogin, issuer, embedded(), stranger]);
  assert.doesNotMatch(misled.config?.['backends.yaml'] ?? '', /mcpserver-weather-backend\.|upstream_inject/);
  const { status, reason, message } = condition(misled, 'BackendReachable') ?? {};
  assert.deepEqual([status, reason, statusOf(misled)['phase']], ['False', 'ServiceTaken', 'Failed']);
  assert.match(message ?? '', /belongs to MCPServer weather-backend; give one of them another name/);
  for (const service of [behind('weather', UID), edited]) {
    const own = plan([withLogin, issuer, embedded(), service]);
    assert.match(own.config?.['backends.yaml'] ?? '', /mcpserver-weather-backend\..*upstream_inject/s);
  }
});

test('it is reconciled again when another object takes that name, or gives it back', () => {
  const touched = mcpServer().affectedBy(objectsSource([withLogin]), stranger);
  assert.deepEqual(touched, [KEY]);
});

test('nor does a VirtualMCPServer, where the name of a member leads to the container of another', () => {
  const container = behind('weather', UID);
  const taken = made(
    'MCPServer',
    'weather-backend',
    { image: 'a', transport: 'streamable-http', groupRef: { name: 'tools' } },
    { uid: 'another' },
  );
  const misled = planOf(virtualServer(), group(), taken, container);
  assert.doesNotMatch(misled.config?.['backends.yaml'] ?? '', /url: /);
  const { reason, message } = condition(misled, 'BackendsWithheld') ?? {};
  assert.equal(reason, 'ServiceTaken');
  assert.match(
    message ?? '',
    /^MCPServer weather-backend: Service mcpserver-weather-backend, .* belongs to MCPServer weather; give/,
  );
  assert.match(planOf(virtualServer(), group(), taken, stranger).config?.['backends.yaml'] ?? '', /url: /);
  const source = objectsSource([virtualServer(), group(), taken]);
  const ownToo = behind('weather-backend', 'another', false);
  const touched = [container, stranger, ownToo].map((service) =>
    virtualMcpServer().affectedBy(source, service).map(keyText),
  );
  assert.deepEqual(touched, [['VirtualMCPServer/default/demo'], [], []]);
});

test('nor where the status of the member says that its Service is another one, which is not watched', () => {
  const member = made(
    'MCPServer',
    'weather',
    { image: 'a', transport: 'streamable-http', groupRef: { name: 'tools' } },
    { uid: UID },
  );
  const told = { type: 'ChildConflict', status: 'True', reason: 'ChildConflict', message: 'Service mcpserver-weather' };
  const over = (status: object) => planOf(virtualServer(), group(), { ...member, status });
  const misled = over({ conditions: [told] });
  assert.doesNotMatch(misled.config?.['backends.yaml'] ?? '', /url: /);
  assert.equal(condition(misled, 'BackendsWithheld')?.reason, 'ServiceTaken');
  const url = 'http://mcpserver-weather.default.svc.cluster.local:8080/mcp';
  for (const status of [{ url, conditions: [told] }, { conditions: [{ ...told, status: 'False' }] }])
    assert.match(over(status).config?.['backends.yaml'] ?? '', /url: /);
  // What a cluster told is in the manifest still.
  const local = { filesDirectory: '/tmp', ports: {}, backends: { weather: 'http://localhost:3001/mcp' } };
  const mapped = planWith({ local }, virtualServer(), group(), { ...member, status: { conditions: [told] } });
  assert.match(mapped.config?.['backends.yaml'] ?? '', /url: http:\/\/localhost:3001/);
});

/** Of the children, those that come into being where `there` is already. */
const appliedBeside = async (there: KubeObject, children: readonly KubeObject[]): Promise<readonly string[]> => {
  const applied: string[] = [];
  const api: Pick<ApiClient, 'get' | 'apply' | 'mergePatch' | 'remove'> = {
    get: (key) => Promise.resolve(keyText(key) === keyText(keyOf(there)) ? there : undefined),
    apply: (object) => {
      applied.push(`${object.kind} ${object.metadata.name}`);
      return Promise.resolve(object);
    },
    mergePatch: () => assert.fail('nothing is repaired'),
    remove: () => assert.fail('nothing is removed'),
  };
  const cache = { get: () => undefined, put: () => {}, fill: () => {}, controlledBy: () => [] };
  await applyChildren(
    withLogin,
    children,
    { api: withApplyNew(api), cache, serverMutations: new ServerMutations(), applyBackoff: new ApplyBackoff(() => 0) },
    new AbortController().signal,
  );
  return applied;
};

test('its pods do not start in front of a Service that the operator did not see coming', async () => {
  const { objects = [] } = plan([server(limited)]);
  const beside = await appliedBeside(stranger, objects);
  assert.ok(beside.includes('Service mcpserver-weather') && !beside.includes('Deployment mcpserver-weather'));
  const own = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === edited.metadata.name);
  const repaired = await appliedBeside({ ...own, ...edited }, objects);
  assert.ok(repaired.includes('Service mcpserver-weather-backend'));
  const alone = await appliedBeside({ ...stranger, metadata: { name: 'other', namespace: 'default' } }, objects);
  assert.ok(alone.includes('Deployment mcpserver-weather'));
});

test('a container that has no runtime in front yet is not asked for status', () => {
  const open = deployment('mcpserver-weather', up, container);
  assert.equal(plan([server(oidc), open]).statusPollIntervalMs, undefined);
  assert.ok((plan([server(oidc), issuer, open]).statusPollIntervalMs ?? 0) > 0);
});

test('a container whose template was stored with a volume called like the config is not taken for the runtime', () => {
  const volumes = [{ name: 'vmcp-config', configMap: { name: 'mcpserver-weather-0123456789' } }];
  const spec = { containers: [...container.template.spec.containers, { name: 'vmcp' }], volumes };
  const open = deployment('mcpserver-weather', up, { replicas: 1, template: { ...container.template, spec } });
  const waiting = plan([server(oidc), open, openService]);
  assert.equal(condition(waiting, 'ServesWithoutAuth')?.status, 'True');
  assert.equal(waiting.statusPollIntervalMs, undefined);
});

test('when a runtime comes in front, the Service leads to no pod from before, and none of those gets to the container', () => {
  const { objects = [] } = plan([server(limited)]);
  const specOf = (kind: string, name: string): unknown =>
    objects.find((each) => each.kind === kind && each.metadata.name === name)?.['spec'];
  const before = plan([server({})]).objects?.find(({ kind }) => kind === 'Deployment')?.['spec'] as DeploymentSpec;
  const front = specOf('Deployment', 'mcpserver-weather') as DeploymentSpec;
  const { selector } = specOf('Service', 'mcpserver-weather') as { readonly selector: Labels };
  const { ingress } = specOf('NetworkPolicy', 'mcpserver-weather-backend') as {
    readonly ingress: readonly [
      { readonly from: readonly [{ readonly podSelector: { readonly matchLabels: Labels } }] },
    ];
  };
  const admitted = ingress[0].from[0].podSelector.matchLabels;
  for (const wanted of [selector, admitted]) {
    assert.equal(selects(wanted, front.template.metadata.labels), true);
    assert.equal(selects(wanted, before.template.metadata.labels), false);
  }
  // The API server takes no other one.
  assert.deepEqual(front.selector, before.selector);
});

test('where the spec that asks for a runtime cannot be served, status tells that the container is open as before', () => {
  const open = deployment('mcpserver-weather', up, container);
  for (const before of [open, { ...open, kind: 'StatefulSet' }]) {
    const waiting = plan([server(oidc), before, openService]);
    const { phase, readyReplicas, message } = statusOf(waiting);
    assert.deepEqual([phase, readyReplicas, waiting.objects], ['Failed', 1, undefined]);
    assert.match(String(message), /what runs already is left as it is, with no runtime in front/);
    const { status, message: told } = condition(waiting, 'ServesWithoutAuth') ?? {};
    assert.equal(status, 'True');
    assert.match(told ?? '', /everybody may connect/);
  }
  const restarting = plan([server(oidc), deployment('mcpserver-weather', {}, container), openService]);
  assert.equal(condition(restarting, 'ServesWithoutAuth')?.status, 'True');
  assert.equal(condition(plan([server(oidc), issuer, open]), 'ServesWithoutAuth'), undefined);
});

test('a VirtualMCPServer sends no credential to a container that runs without its runtime in front', () => {
  const token = made('MCPExternalAuthConfig', 'token', {
    type: 'bearerToken',
    bearerToken: { tokenSecretRef: { name: 'keys', key: 'token' } },
  });
  const ref = { externalAuthConfigRef: { name: 'token' } };
  const backendsWith = (type: string): string => {
    const status = { conditions: [{ type, status: 'True', reason: 'R', message: '' }] };
    const member = { ...server({ ...oidc, groupRef: { name: 'tools' }, ...ref }), status };
    const listed = [{ name: 'weather', url: 'http://weather/mcp', transport: 'streamable-http' }];
    const inline = { source: 'inline', backends: { weather: { type: 'externalAuthConfigRef', ...ref } } };
    const headerInjection = { headerName: 'X-Key', headerValueEnv: 'KEY' };
    const header = { source: 'inline', default: { type: 'header_injection', headerInjection } };
    const found = planOf(virtualServer(), group(), member, token).config?.['backends.yaml'];
    const written = planOf(
      virtualServer({ outgoingAuth: inline, config: { backends: listed } }),
      group(),
      member,
      token,
    );
    const inConfig = planOf(virtualServer({ config: { outgoingAuth: header } }), group(), member);
    return `${found}${written.config?.['config.yaml']}${inConfig.config?.['backends.yaml']}`;
  };
  const open = backendsWith('ServesWithoutAuth');
  assert.doesNotMatch(open, /url: /);
  assert.equal(open.match(/message: .*runs without the runtime in front/g)?.length, 2);
  assert.equal(backendsWith('Ready').match(/url: /g)?.length, 3);
});

test('pods from before a runtime stood in front count neither as serving nor with their reports', () => {
  const forged = new Map([...answering].map(([, told]) => ['old', told] as const));
  const objects = [
    server(limited),
    deployment('mcpserver-weather', up, runtime),
    deployment('mcpserver-weather-backend', up),
  ];
  const starting = plan([...objects, ...readyPod('old', false)], forged);
  assert.deepEqual([statusOf(starting)['phase'], statusOf(starting)['readyReplicas']], ['Pending', 0]);
  assert.equal(condition(starting, 'BackendReachable')?.status, 'Unknown');
  const serving = plan([...objects, ...readyPod('weather-0', true)], answering);
  assert.deepEqual([statusOf(serving)['phase'], statusOf(serving)['readyReplicas']], ['Ready', 1]);
});

test('a spec from before the container ran in the open does not come back', () => {
  const first = plan([server({ ...limited, image: 'example/weather:1' })]);
  const kept = first.objects?.find(({ kind }) => kind === 'ConfigMap');
  assert.ok(kept !== undefined);
  const owners = { ownerReferences: deployment('any', {}).metadata.ownerReferences ?? [] };
  const configMap = { ...kept, metadata: { ...kept.metadata, ...owners } };
  const now = server({ ...oidc, image: 'example/weather:3' });
  const direct = deployment('mcpserver-weather', up, container);
  for (const running of [direct, { ...direct, kind: 'StatefulSet' }]) {
    assert.equal(plan([now, configMap, running]).objects, undefined);
  }
  const served = plan([now, configMap, deployment('mcpserver-weather', up, runtime)]);
  assert.match(JSON.stringify(served.objects), /example\/weather:1/);
});

type Labels = Readonly<Record<string, string>>;

interface DeploymentSpec {
  readonly selector: object;
  readonly template: { readonly metadata: { readonly labels: Labels } };
}

const selects = (wanted: Labels, labels: Labels): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);
