import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { Plan } from '../../../../operator/plan/plan.ts';
import { covers } from '../../../requirements.ts';
import { authServer } from '../../validate/cases.ts';
import {
  answering,
  deployment,
  embedded,
  issuer,
  limited,
  namesIn,
  oidc,
  plan,
  policies,
  runtime,
  server,
  up,
} from '../fronted-server-objects.ts';
import { made } from '../made.ts';
import { condition, statusOf } from '../plan-of-demo.ts';

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
  for (const spec of [limited, oidc, { ...oidc, authzConfig: policies }, { ...oidc, authServerRef: { name: 'own' } }]) {
    assert.deepEqual(namesIn(plan([server(spec), issuer, embedded()])), fronted);
  }
  assert.deepEqual(namesIn(plan([server({})])), [
    'ServiceAccount mcpserver-weather',
    'Service mcpserver-weather',
    'Deployment mcpserver-weather',
  ]);
});

test('policies that are stored without oidcConfigRef are refused, and nothing is made that admits every caller', () => {
  const stored = server({});
  const spec = { ...(stored['spec'] as object), authzConfig: policies };
  const refused = plan([{ ...stored, spec }]);
  const { status, reason, message } = condition(refused, 'Valid') ?? {};
  assert.deepEqual([status, reason, refused.objects], ['False', 'Invalid', undefined]);
  assert.match(message ?? '', /^spec\.authzConfig: .*; set oidcConfigRef$/);
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
test('primaryUpstreamProvider is reported and ignored, and the server runs', () => {
  const inline = { ...policies.inline, primaryUpstreamProvider: 'other' };
  const ignored = plan([server({ ...oidc, authzConfig: { ...policies, inline } }), issuer]);
  assert.equal(condition(ignored, 'AuthzPrimaryUpstreamProviderIgnored')?.status, 'True');
  assert.equal(condition(ignored, 'Valid')?.status, 'True');
  assert.doesNotMatch(ignored.config?.['config.yaml'] ?? '', /other/);
});

covers('outgoing.single-upstream-mcpserver-swap');
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
  const spec = server(limited);
  const [front, container] = ['mcpserver-weather', 'mcpserver-weather-backend'];
  const phaseOf = (each: Plan): unknown => statusOf(each)['phase'];
  const both = [deployment(front, up, runtime), deployment(container, up)];
  const ready = plan([spec, ...both], answering);
  assert.deepEqual([phaseOf(ready), statusOf(ready)['readyReplicas']], ['Ready', 1]);
  assert.deepEqual(plan([{ ...spec, status: ready.status }, ...both]).status, ready.status);
  const starting = plan([spec, deployment(front, up, runtime), deployment(container, {})], answering);
  assert.deepEqual([phaseOf(starting), statusOf(starting)['readyReplicas']], ['Pending', 0]);
  const none = { replicas: 0 };
  const stopped = plan([
    server({ ...limited, replicas: 0 }),
    deployment(front, {}, { ...runtime, ...none }),
    deployment(container, {}, none),
  ]);
  assert.equal(phaseOf(stopped), 'Stopped');
});

test('transport stdio behind it is a StatefulSet with a bridge in each pod', () => {
  const bridged = plan([server({ ...limited, transport: 'stdio', replicas: 2 })]);
  const kinds = (bridged.objects ?? [])
    .filter(({ metadata }) => metadata.name.endsWith('-backend'))
    .map(({ kind }) => kind);
  assert.deepEqual(kinds, ['NetworkPolicy', 'ServiceAccount', 'Role', 'RoleBinding', 'Service', 'StatefulSet']);
});
