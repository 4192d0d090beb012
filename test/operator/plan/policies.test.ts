import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResource } from '../../../crds/index.ts';
import { covers } from '../../requirements.ts';
import { authServerConfig, configMap, configOf, idp, oidc, planOf, servedBefore } from './built-world.ts';
import { condition, group, server, statusOf } from './world.ts';

const policies = (configMapRef: object = {}) =>
  oidc({ authzConfig: { type: 'configMap', configMap: { name: 'policies', ...configMapRef } } });

covers('crd.vmcp.authz-config.config-map-key-default');
test('policies come from the key authz.json of a ConfigMap, or the one that is named, as JSON or YAML', () => {
  const cedar = { policies: ['permit(principal, action, resource);'], entities_json: '[{}]' };
  const json = JSON.stringify({ version: '1.0', type: 'cedarv1', cedar });
  const yaml = 'version: "1.0"\ntype: cedarv1\ncedar:\n  policies: ["permit(principal, action, resource);"]\n';
  const parsed = parseResource(server(policies()));
  assert.ok(parsed.ok);
  const fromJson = planOf(parsed.value, group(), idp(), configMap('policies', { 'authz.json': json }));
  assert.deepEqual(configOf(fromJson).incomingAuth.authz, {
    type: 'cedar',
    policies: cedar.policies,
    entitiesJson: '[{}]',
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
  ['no policies', { 'authz.json': document({ cedar: { policies: [] } }) }, /authz\.json\.cedar\.policies: /],
] as const) {
  test(`policies: ${what} is told, and nothing is served without them`, () => {
    const plan = planOf(server(policies()), group(), idp(), configMap('policies', data));
    assert.equal(plan.objects, undefined);
    assert.match(condition(plan, 'Valid')?.message ?? '', message);
  });
}

test('policies of a ConfigMap that rest on an unknown upstream provider are refused, too', () => {
  const cedar = { policies: ['permit(principal, action, resource);'], primary_upstream_provider: 'nobody' };
  const plan = planOf(
    server({ ...policies(), authServerConfig }),
    group(),
    idp(),
    configMap('policies', { 'authz.json': document({ cedar }) }),
  );
  assert.equal(plan.objects, undefined);
  assert.match(condition(plan, 'Valid')?.message ?? '', /no upstream provider is called nobody; name one of corp/);
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
