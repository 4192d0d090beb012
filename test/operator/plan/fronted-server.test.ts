import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { parseResource } from '../../../crds/index.ts';
import { mcpServer } from '../../../operator/kinds/mcp-server.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { objectsSource } from '../../../operator/read/objects-source.ts';
import type { PodReports } from '../../../operator/read/source.ts';
import { covers } from '../../requirements.ts';
import { authServer } from '../validate/cases.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { condition, report, statusOf } from './world.ts';

const UID = '3f0f8a52-0d55-4a50-8f5e-0a2b9d0f7c11';
const KEY = { kind: 'MCPServer', namespace: 'default', name: 'weather' };
const kind = mcpServer(everythingBuilt());

const made = (of: string, name: string, spec: object, metadata: object = {}): KubeObject => {
  const parsed = parseResource({
    apiVersion: 'vmcp.dev/v1beta1',
    kind: of,
    metadata: { name, namespace: 'default', ...metadata },
    spec,
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return { ...parsed.value, metadata: { ...parsed.value.metadata, ...metadata } };
};
const server = (spec: object): KubeObject =>
  made('MCPServer', 'weather', { image: 'a', transport: 'streamable-http', ...spec }, { uid: UID, generation: 1 });
const policies = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
const oidc = { oidcConfigRef: { name: 'idp', audience: 'weather' } };
const issuer = made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://auth.example.com' } });
const embedded = (more: object = {}): KubeObject =>
  made('MCPExternalAuthConfig', 'own', { type: 'embeddedAuthServer', embeddedAuthServer: authServer(more) });

const plan = (objects: readonly KubeObject[], reports: PodReports = new Map()): Plan => {
  const bundle = kind.resolve({ ...objectsSource(objects), reports: () => reports }, KEY);
  assert.ok(bundle !== undefined);
  return kind.plan(bundle, DEFAULT_SETTINGS);
};

const namesIn = ({ objects = [] }: Plan): readonly string[] =>
  objects.map((object) => `${object.kind} ${object.metadata.name.replace(/-[0-9a-f]{10}$/, '-#')}`);

const deployment = (name: string, status: object, spec: object = { replicas: 1 }): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name,
    namespace: 'default',
    uid: name,
    ownerReferences: [
      { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPServer', name: 'weather', uid: UID, controller: true },
    ],
  },
  spec,
  status,
});
const up = { availableReplicas: 1, readyReplicas: 1 };
const answering: PodReports = new Map([['weather-0', report({ weather: 'ready' })]]);

test('policies, limits, callers or an embedded server of its own put the runtime in front of the container', () => {
  const fronted = [
    'NetworkPolicy mcpserver-weather-backend',
    'ServiceAccount mcpserver-weather-backend',
    'Service mcpserver-weather-backend',
    'Deployment mcpserver-weather-backend',
    'ServiceAccount mcpserver-weather',
    'Service mcpserver-weather',
    'ConfigMap mcpserver-weather-#',
    'Deployment mcpserver-weather',
  ];
  const limits = { shared: { maxTokens: 1, refillPeriod: '1s' } };
  for (const spec of [
    { authzConfig: policies },
    { rateLimiting: limits },
    oidc,
    { ...oidc, authServerRef: { name: 'own' } },
  ]) {
    assert.deepEqual(namesIn(plan([server(spec), issuer, embedded()])), fronted);
  }
  assert.deepEqual(namesIn(plan([server({})])), [
    'ServiceAccount mcpserver-weather',
    'Service mcpserver-weather',
    'Deployment mcpserver-weather',
  ]);
});

covers('authserver.upstreams.mcpserver-one');
test('an embedded server with two upstream providers is invalid, and nothing is made', () => {
  const [idp] = authServer({}).upstreamProviders;
  const two = embedded({ upstreamProviders: [idp, { ...idp, name: 'second' }] });
  const refused = plan([server({ ...oidc, authServerRef: { name: 'own' } }), issuer, two]);
  assert.equal(condition(refused, 'Valid')?.reason, 'Invalid');
  assert.deepEqual([statusOf(refused)['phase'], refused.objects], ['Failed', undefined]);
});

covers('errors.primary-upstream-ignored.mcpserver');
test('primaryUpstreamProvider is told of and ignored, and the server runs', () => {
  const inline = { ...policies.inline, primaryUpstreamProvider: 'other' };
  const ignored = plan([server({ ...oidc, authzConfig: { ...policies, inline } }), issuer]);
  assert.equal(condition(ignored, 'AuthzPrimaryUpstreamProviderIgnored')?.status, 'True');
  assert.equal(condition(ignored, 'Valid')?.status, 'True');
  assert.doesNotMatch(ignored.config?.['config.yaml'] ?? '', /other/);
});

test('with one upstream provider its token goes to the container; what a VirtualMCPServer sends stays in front', () => {
  const token = made('MCPExternalAuthConfig', 'token', {
    type: 'bearerToken',
    bearerToken: { tokenSecretRef: { name: 'keys', key: 'token' } },
  });
  const spec = { ...oidc, authServerRef: { name: 'own' }, externalAuthConfigRef: { name: 'token' } };
  const { config } = plan([server(spec), issuer, embedded(), token]);
  const { outgoingAuth } = parse(config?.['backends.yaml'] ?? '') as { readonly outgoingAuth: unknown };
  const inject = { type: 'upstream_inject', upstreamInject: { providerName: 'idp' } };
  assert.deepEqual(outgoingAuth, { backends: { weather: inject } });
});

test('the phase is that of the worse of the two, and an operator that starts anew says the same', () => {
  const spec = server({ authzConfig: policies });
  const [front, container] = ['mcpserver-weather', 'mcpserver-weather-backend'];
  const phaseOf = (each: Plan): unknown => statusOf(each)['phase'];
  const both = [deployment(front, up), deployment(container, up)];
  const ready = plan([spec, ...both], answering);
  assert.deepEqual([phaseOf(ready), statusOf(ready)['readyReplicas']], ['Ready', 1]);
  assert.deepEqual(plan([{ ...spec, status: ready.status }, ...both]).status, ready.status);
  const starting = plan([spec, deployment(front, up), deployment(container, {})], answering);
  assert.deepEqual([phaseOf(starting), statusOf(starting)['readyReplicas']], ['Pending', 0]);
  const none = { replicas: 0 };
  const stopped = plan([
    server({ authzConfig: policies, replicas: 0 }),
    deployment(front, {}, none),
    deployment(container, {}, none),
  ]);
  assert.equal(phaseOf(stopped), 'Stopped');
});

test('transport stdio behind it is a StatefulSet with a bridge in each pod', () => {
  const bridged = plan([server({ authzConfig: policies, transport: 'stdio', replicas: 2 })]);
  const kinds = (bridged.objects ?? [])
    .filter(({ metadata }) => metadata.name.endsWith('-backend'))
    .map(({ kind }) => kind);
  assert.deepEqual(kinds, ['NetworkPolicy', 'ServiceAccount', 'Role', 'RoleBinding', 'Service', 'StatefulSet']);
});
