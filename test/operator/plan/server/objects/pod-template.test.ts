import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { covers } from '../../../../requirements.ts';
import { condition, group, planOf, planned, podSpecOf, server } from '../../plan-of-demo.ts';

const planWith = (podTemplateSpec: object, more: object = {}): Plan =>
  planOf({ objects: [server({ podTemplateSpec, ...more }), group()] });

const plain = planOf({ objects: [server(), group()] });

interface Template {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

const templateOf = (plan: Plan): Template =>
  (planned(plan, 'Deployment')['spec'] as { readonly template: Template }).template;

const containerOf = (plan: Plan, wanted: string): Readonly<Record<string, unknown>> => {
  const found = podSpecOf(plan).containers.find(({ name }) => name === wanted);
  assert.ok(found);
  return { ...found };
};

const names = (list: unknown): readonly unknown[] =>
  (list as readonly { readonly name: string }[]).map(({ name }) => name);

covers('operator.pod-template.customizes-pod');
test('settings of the pod template reach the pod, known or not', () => {
  const spec = { nodeSelector: { disk: 'ssd' }, terminationGracePeriodSeconds: 90, futureField: { kept: [1] } };
  const pod = podSpecOf(planWith({ spec }));
  assert.deepEqual(
    [pod['nodeSelector'], pod['terminationGracePeriodSeconds'], pod['futureField']],
    [{ disk: 'ssd' }, 90, { kept: [1] }],
  );
});

covers('operator.pod-template.container-vmcp');
test('a container named vmcp changes the server container, field by field', () => {
  const resources = { limits: { memory: '1Gi' } };
  const changed = containerOf(planWith({ spec: { containers: [{ name: 'vmcp', resources }] } }), 'vmcp');
  assert.deepEqual(changed, {
    ...containerOf(plain, 'vmcp'),
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
  });
});

covers('operator.pod-template.other-container-name');
test('a container of another name stands beside the server container, which stays as it is', () => {
  const sidecar = { name: 'proxy', image: 'proxy:1', args: ['x'], env: [{ name: 'A', value: 'b' }] };
  const plan = planWith({ spec: { containers: [sidecar] } });
  assert.deepEqual(containerOf(plan, 'vmcp'), containerOf(plain, 'vmcp'));
  assert.deepEqual(containerOf(plan, 'proxy'), sidecar);
});

test("labels of the selector and the hash of the config are the operator's, others are kept", () => {
  const labels = { 'app.kubernetes.io/instance': 'x', team: 'search' };
  const annotations = { 'vmcp.dev/startup-hash': 'x', note: 'y' };
  for (const metadata of [{ labels, annotations }, null, { $patch: 'delete' }]) {
    const { labels: told, annotations: noted } = templateOf(planWith({ metadata })).metadata;
    const isAdded = metadata !== null && 'labels' in metadata;
    assert.deepEqual(told, { ...templateOf(plain).metadata.labels, ...(isAdded && { team: 'search' }) });
    assert.deepEqual(noted, { ...templateOf(plain).metadata.annotations, ...(isAdded && { note: 'y' }) });
  }
});

const secrets = (...list: readonly string[]) => list.map((name) => ({ name }));

covers(
  'operator.pull-secrets.union-by-name',
  'operator.pull-secrets.spec-first',
  'operator.pull-secrets.pod-template-wins',
  'operator.pull-secrets.order-unspecified',
);
test('pull secrets are those of both sides, once each; the entry of the pod template wins', () => {
  const overruling = [{ name: 'b', note: 'of the template' }, { name: 'c' }];
  const plan = planWith({ spec: { imagePullSecrets: overruling } }, { imagePullSecrets: secrets('b', 'a') });
  assert.deepEqual(podSpecOf(plan)['imagePullSecrets'], [{ name: 'a' }, ...overruling]);
  const reordered = planWith(
    { spec: { imagePullSecrets: overruling.toReversed() } },
    { imagePullSecrets: secrets('a', 'b') },
  );
  assert.deepEqual(planned(reordered, 'Deployment'), planned(plan, 'Deployment'));
});

test('a pull secret that the spec names twice is deployed once, since the API server refuses it twice', () => {
  const plan = planOf({ objects: [server({ imagePullSecrets: secrets('a', 'a') }), group()] });
  assert.deepEqual(podSpecOf(plan)['imagePullSecrets'], [{ name: 'a' }]);
});

covers('operator.pull-secrets.service-account-no-pod-template');
test('the managed service account has none of the pull secrets of the pod template', () => {
  const podTemplateSpec = { spec: { imagePullSecrets: secrets('b', 'c') } };
  const both = planWith(podTemplateSpec, { imagePullSecrets: secrets('a', 'b') });
  assert.deepEqual(names(planned(both, 'ServiceAccount')['imagePullSecrets']), ['a', 'b']);
  assert.equal(planned(planWith(podTemplateSpec), 'ServiceAccount')['imagePullSecrets'], undefined);
});

test('another pod template is another ConfigMap, and the pod mounts that one', () => {
  const plan = planWith({ spec: { priorityClassName: 'high' } });
  const { name } = planned(plan, 'ConfigMap').metadata;
  assert.notEqual(name, planned(plain, 'ConfigMap').metadata.name);
  const volumes = podSpecOf(plan)['volumes'] as readonly { readonly configMap?: { readonly name: string } }[];
  assert.equal(volumes.find(({ configMap }) => configMap !== undefined)?.configMap?.name, name);
});

test('a template that changes nothing changes no object', () => {
  const same = planWith({ spec: { containers: [{ name: 'vmcp' }], nodeSelector: null } });
  for (const kind of ['Deployment', 'ServiceAccount']) assert.deepEqual(planned(same, kind), planned(plain, kind));
});

test('a template that cannot be merged is a condition with place and remedy, and nothing of it is applied', () => {
  const plan = planWith({ spec: { containers: [{ image: 'x' }], volumes: 'x' } });
  assert.equal(plan.objects, undefined);
  const { reason, message } = condition(plan, 'Valid') ?? {};
  assert.equal(reason, 'Invalid');
  assert.match(message ?? '', /spec\.podTemplateSpec\.spec\.containers\[0\]: has no name; set name/);
});

test('no template, however wrong, stops the plan', () => {
  const wrong = [null, 0, 'x', [], [null], [[1]], { a: null }, { $patch: 'x' }, { $retainKeys: 1 }];
  for (const value of wrong) {
    for (const field of ['containers', 'imagePullSecrets', 'nodeSelector', '$patch', '$setElementOrder/containers']) {
      assert.ok(planWith({ spec: { [field]: value } }, { imagePullSecrets: secrets('a') }).status);
    }
    assert.ok(planWith({ metadata: value, spec: value }).status);
    assert.ok(planWith({ metadata: { labels: value } }).status);
  }
});
