import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResource } from '../../../../../crds/index.ts';
import { covers } from '../../../../requirements.ts';
import {
  authServerConfig,
  configMap,
  configOf,
  idp,
  oidc,
  planOf,
  servedBefore,
} from '../../plan-with-everything-built.ts';
import { condition, group, server, statusOf } from '../../plan-of-demo.ts';

const entitiesJson = '[{"uid": {"type": "Group", "id": "admins"}, "attrs": {}, "parents": []}]';

const policies = (configMapRef: object = {}) =>
  oidc({ authzConfig: { type: 'configMap', configMap: { name: 'policies', ...configMapRef } } });

covers('crd.vmcp.authz-config.config-map-key-default');
test('policies come from the key authz.json of a ConfigMap, or the one that is named, as JSON or YAML', () => {
  const cedar = { policies: ['permit(principal, action, resource);'], entities_json: entitiesJson };
  const json = JSON.stringify({ version: '1.0', type: 'cedarv1', cedar });
  const yaml = 'version: "1.0"\ntype: cedarv1\ncedar:\n  policies: ["permit(principal, action, resource);"]\n';
  const parsed = parseResource(server(policies()));
  assert.ok(parsed.ok);
  const fromJson = planOf(parsed.value, group(), idp(), configMap('policies', { 'authz.json': json }));
  assert.deepEqual(configOf(fromJson).incomingAuth.authz, {
    type: 'cedar',
    policies: cedar.policies,
    entitiesJson,
  });
  const fromYaml = planOf(
    server(policies({ key: 'p.yaml' })),
    group(),
    idp(),
    configMap('policies', { 'p.yaml': yaml }),
  );
  assert.deepEqual(configOf(fromYaml).incomingAuth.authz, { type: 'cedar', policies: cedar.policies });
});

const document = (more: object) =>
  JSON.stringify({
    version: '1.0',
    type: 'cedarv1',
    cedar: { policies: ['permit(principal, action, resource);'] },
    ...more,
  });

for (const [what, data, message] of [
  ['no such key', {}, /ConfigMap policies cannot be used: it has no key authz\.json; add it, or change spec\.incom/],
  ['nothing that can be read', { 'authz.json': '{' }, /authz\.json: .*; write \{"version": "1\.0"/],
  ['another type', { 'authz.json': document({ type: 'opa' }) }, /authz\.json\.type: /],
  ['an unknown key', { 'authz.json': document({ polices: [] }) }, /polices/],
  [
    'a broken policy',
    {
      'authz.json': document({
        cedar: { policies: ['permit(principal, action, resource);', 'permit(principal action'] },
      }),
    },
    /authz\.json\.cedar\.policies\[1\]: line 1, column 18 of the policy: unexpected token `action`; expected/,
  ],
  [
    'an entity that is none',
    { 'authz.json': document({ cedar: { policies: ['permit(principal, action, resource);'], entities_json: '{}' } }) },
    /authz\.json\.cedar\.entities_json: not a list of entities/,
  ],
  ['no policies', { 'authz.json': document({ cedar: { policies: [] } }) }, /authz\.json\.cedar\.policies: /],
] as const) {
  test(`policies: ${what} is reported, and nothing is served without them`, () => {
    const plan = planOf(server(policies()), group(), idp(), configMap('policies', data));
    assert.equal(plan.objects, undefined);
    assert.match(condition(plan, 'Valid')?.message ?? '', message);
  });
}

const [corp] = authServerConfig.upstreamProviders;
const upstreamProviders = [corp, { ...corp, name: 'hub' }];
const naming = (provider: string): string => {
  const cedar = { policies: ['permit(principal, action, resource);'], primary_upstream_provider: provider };
  return document({ cedar });
};

covers('authz.primary-upstream.inline-only', 'authz.primary-upstream.default-first');
test('primary_upstream_provider of a ConfigMap is reported and ignored: the first upstream counts', () => {
  const planFor = (text: string, more: object = {}) => {
    const spec = { ...policies(), authServerConfig: { ...authServerConfig, upstreamProviders }, ...more };
    return planOf(server(spec), group(), idp(), configMap('policies', { 'authz.json': text }));
  };
  for (const provider of ['hub', 'nobody']) {
    const plan = planFor(naming(provider));
    const { status, reason, message } = condition(plan, 'AuthzPrimaryUpstreamProviderIgnored') ?? {};
    assert.deepEqual([status, reason], ['True', 'InlineOnly']);
    assert.match(
      message ?? '',
      new RegExp(`names the upstream provider ${provider}, which is ignored: .* write them inline`),
    );
    assert.equal(condition(plan, 'Valid')?.status, 'True');
    assert.deepEqual(configOf(plan).incomingAuth.authz, {
      type: 'cedar',
      policies: ['permit(principal, action, resource);'],
      primaryUpstreamProvider: 'corp',
    });
  }
  const told = (text: string, more?: object) => condition(planFor(text, more), 'AuthzPrimaryUpstreamProviderIgnored');
  assert.equal(told(naming('')), undefined);
  assert.equal(told(document({})), undefined);
  const inline = { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'hub' };
  const honoured = planFor(document({}), oidc({ authzConfig: { type: 'inline', inline } }));
  assert.equal(condition(honoured, 'AuthzPrimaryUpstreamProviderIgnored'), undefined);
  assert.match(honoured.config?.['config.yaml'] ?? '', /primaryUpstreamProvider: hub/);
});

test('without an embedded authorization server, a ConfigMap that names a provider is served as if it named none', () => {
  const plan = planOf(server(policies()), group(), idp(), configMap('policies', { 'authz.json': naming('corp') }));
  assert.equal(condition(plan, 'AuthzPrimaryUpstreamProviderIgnored')?.status, 'True');
  assert.ok(plan.objects !== undefined);
  assert.doesNotMatch(plan.config?.['config.yaml'] ?? '', /primaryUpstreamProvider/);
});

test('policies that become unreadable stay as they were accepted', () => {
  const objects = [server(policies()), group(), idp()];
  const first = planOf(...objects, configMap('policies', { 'authz.json': document({}) }));
  for (const data of [{}, { 'authz.json': '{' }]) {
    const later = planOf(...objects, configMap('policies', data), ...servedBefore(first));
    assert.equal(statusOf(later)['phase'], 'Degraded');
    assert.equal(later.config?.['config.yaml'], first.config?.['config.yaml']);
  }
});

test('policies that take long to read are not read', () => {
  const yaml = Array.from({ length: 20_000 }, (_, index) => `k${index}:`).join('\n');
  const json = document({ cedar: { policies: ['x'.repeat(300_000)] } });
  for (const text of [yaml, json]) {
    const plan = planOf(server(policies()), group(), idp(), configMap('policies', { 'authz.json': text }));
    assert.match(condition(plan, 'Valid')?.message ?? '', /ConfigMap policies cannot be used/);
  }
});

test('an inline policy that is broken is reported with its place, and nothing is served without it', () => {
  const inline = {
    policies: ['permit(principal, action, resource);', 'permit(principal, action, resource) when { x };'],
  };
  const plan = planOf(server(oidc({ authzConfig: { type: 'inline', inline } })), group(), idp());
  assert.equal(plan.objects, undefined);
  const { status, reason, message } = condition(plan, 'Valid') ?? {};
  assert.deepEqual([status, reason], ['False', 'Invalid']);
  assert.match(
    message ?? '',
    /^spec\.incomingAuth\.authzConfig\.inline\.policies\[1\]: line 1, column 44 of the policy: invalid/,
  );
});
