import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../../../operator/object.ts';
import { labelsOfChild } from '../../../../../operator/plan/workload/child.ts';
import { service } from '../../../../../operator/plan/workload/objects.ts';
import { DEFAULT_SETTINGS } from '../../golden.ts';
import { condition, entry, group, planOf, planned, server } from '../../plan-of-demo.ts';

const asked = {
  annotations: { 'external-dns.alpha.kubernetes.io/hostname': 'mcp.example.com' },
  labels: { team: 'search' },
};

const inputs = (serviceMetadata?: object): Parameters<typeof planOf>[0] => ({
  objects: [
    server(serviceMetadata && { config: { extensions: { sessionTtl: '1h', service: serviceMetadata } } }),
    group(),
    entry('alpha'),
  ],
});

const metadataOf = (plan: ReturnType<typeof planOf>): KubeObject['metadata'] => planned(plan, 'Service').metadata;

test('annotations and labels of config.extensions.service are those of the Service, beside the labels of the operator', () => {
  const [plain, with_] = [metadataOf(planOf(inputs())), metadataOf(planOf(inputs(asked)))];
  assert.deepEqual(with_, { ...plain, annotations: asked.annotations, labels: { ...asked.labels, ...plain.labels } });
});

test('nothing else is made of them: neither the config nor the Deployment knows', () => {
  const [without, with_] = [planOf(inputs({})), planOf(inputs(asked))];
  assert.deepEqual(planned(with_, 'Deployment'), planned(without, 'Deployment'));
  assert.deepEqual(with_.config, without.config);
  assert.match(with_.config?.['config.yaml'] ?? '', /^ {2}sessionTtl: 1h$/m);
  assert.doesNotMatch(JSON.stringify(with_.config), /service:|mcp\.example\.com/);
});

test('alone under extensions they leave no trace in the config', () => {
  const settings = { ...DEFAULT_SETTINGS, local: { filesDirectory: '/files', backends: {}, ports: {} } };
  const configOf = (spec: object) => planOf({ objects: [server(spec), group(), entry('alpha')], settings }).config;
  assert.deepEqual(configOf({ config: { extensions: { service: asked } } }), configOf({}));
});

test('the labels of the operator win over all others', () => {
  const child = { owner: server(), name: 'vmcp-demo', component: 'virtualmcpserver' };
  const labels = { 'app.kubernetes.io/name': 'mine', team: 'search' };
  assert.deepEqual(service(child, { labels }).metadata.labels, { team: 'search', ...labelsOfChild(child) });
});

for (const [field, key] of [
  ['labels', 'app.kubernetes.io/instance'],
  ['labels', 'vmcp.dev/mine'],
  ['annotations', 'vmcp.dev/mine'],
] as const) {
  test(`${field}: ${key} is refused with the field and what to do`, () => {
    const plan = planOf(inputs({ [field]: { [key]: 'a' } }));
    const { status, reason, message } = condition(plan, 'Valid') ?? {};
    assert.deepEqual([status, reason, plan.objects], ['False', 'Invalid', undefined]);
    assert.match(
      message ?? '',
      new RegExp(`^spec\\.config\\.extensions\\.service\\.${field}: .*operator's.*; give yours`),
    );
  });
}
