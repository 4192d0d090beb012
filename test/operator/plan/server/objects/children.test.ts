import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers } from '../../../../requirements.ts';
import { DEFAULT_SETTINGS } from '../../golden.ts';
import { availableDeployment, entry, group, planOf, planned, podSpecOf, server, statusOf } from '../../plan-of-demo.ts';

const inputs = (spec: object = {}): Parameters<typeof planOf>[0] => ({
  objects: [server(spec), group(), entry('alpha')],
});

covers('operator.process.single');
test('one container serves, and the Service points at it', () => {
  const plan = planOf(inputs());
  assert.deepEqual(
    podSpecOf(plan).containers.map(({ name }) => name),
    ['vmcp'],
  );
  assert.equal(podSpecOf(plan)['initContainers'], undefined);
  const { selector, ports } = planned(plan, 'Service')['spec'] as { selector: object; ports: { targetPort: string }[] };
  const { template } = planned(plan, 'Deployment')['spec'] as { template: { metadata: { labels: object } } };
  assert.deepEqual(selector, template.metadata.labels);
  assert.deepEqual(
    ports.map(({ targetPort }) => targetPort),
    ['http'],
  );
});

covers('operator.replicas.applied', 'operator.replicas.zero');
test('replicas is the count of the one Deployment, zero included', () => {
  for (const replicas of [0, 1, 3]) {
    const deployment = planned(planOf(inputs({ replicas })), 'Deployment')['spec'] as { replicas: number };
    assert.equal(deployment.replicas, replicas);
  }
});

test('without replicas the operator does not own the count', () => {
  assert.equal(Object.hasOwn(planned(planOf(inputs()), 'Deployment')['spec'] as object, 'replicas'), false);
});

covers('operator.service-account.existing');
test('a named service account is used and none is made', () => {
  const plan = planOf(inputs({ serviceAccount: 'mine' }));
  assert.equal(podSpecOf(plan)['serviceAccountName'], 'mine');
  assert.equal(
    plan.objects?.some(({ kind }) => kind === 'ServiceAccount'),
    false,
  );
});

covers('operator.service-account.auto-created');
test('without a name a service account is made and used, without a token in the pod', () => {
  const plan = planOf(inputs());
  assert.equal(planned(plan, 'ServiceAccount').metadata.name, podSpecOf(plan)['serviceAccountName']);
  assert.equal(podSpecOf(plan)['automountServiceAccountToken'], false);
});

covers('operator.service-type.cluster-ip', 'operator.service-type.node-port', 'operator.service-type.load-balancer');
test('serviceType is the type of the Service', () => {
  for (const serviceType of ['ClusterIP', 'NodePort', 'LoadBalancer']) {
    assert.equal((planned(planOf(inputs({ serviceType })), 'Service')['spec'] as { type: string }).type, serviceType);
  }
});

const configOf = (plan: ReturnType<typeof planOf>): string => JSON.stringify(planned(plan, 'ConfigMap')['data']);

covers('session.absent.none-configured');
test('without sessionStorage none is configured', () => {
  assert.doesNotMatch(configOf(planOf(inputs())), /sessionStorage/);
});

covers('session.operator.password-env-from-secret');
test('the password of the session store is a variable from its secret, and in no ConfigMap', () => {
  const passwordRef = { name: 'redis', key: 'password' };
  const sessionStorage = { provider: 'kvstore', address: 'redis:6379', passwordRef };
  const plan = planOf(inputs({ sessionStorage }));
  const [container] = podSpecOf(plan).containers as readonly { readonly env?: unknown }[];
  assert.deepEqual(container?.env, [
    { name: 'VMCP_SESSION_KVSTORE_PASSWORD', valueFrom: { secretKeyRef: { ...passwordRef, optional: true } } },
  ]);
  const { data } = planned(plan, 'ConfigMap') as unknown as { readonly data: Readonly<Record<string, string>> };
  assert.match(data['config.yaml'] ?? '', /provider: kvstore/);
  assert.doesNotMatch(data['config.yaml'] ?? '', /passwordRef|password:/);
});

covers('operator.session-affinity.client-ip', 'operator.session-affinity.none');
test('sessionAffinity is that of the Service', () => {
  for (const sessionAffinity of ['ClientIP', 'None']) {
    const spec = planned(planOf(inputs({ sessionAffinity })), 'Service')['spec'] as { sessionAffinity: string };
    assert.equal(spec.sessionAffinity, sessionAffinity);
  }
});

covers('operator.pull-secrets.applied', 'operator.pull-secrets.service-account-spec-only');
test('pull secrets of the spec reach the pod and the managed service account', () => {
  const imagePullSecrets = [{ name: 'a' }, { name: 'b' }];
  const plan = planOf(inputs({ imagePullSecrets }));
  assert.deepEqual(podSpecOf(plan)['imagePullSecrets'], imagePullSecrets);
  assert.deepEqual(planned(plan, 'ServiceAccount')['imagePullSecrets'], imagePullSecrets);
});

covers('operator.config.group-ref-filled');
test('the rendered config names the group of spec.groupRef whatever config.groupRef says', () => {
  const { config } = planOf(inputs({ config: { groupRef: 'other' } }));
  assert.match(config?.['config.yaml'] ?? '', /^groupRef: tools$/m);
});

covers('operator.config.static-backends-discovered-empty');
test('with discovered backends config.yaml holds none, backends.yaml those of the group', () => {
  const config = { backends: [{ name: 'ghost', url: 'http://ghost/mcp', transport: 'streamable-http' }] };
  const { config: files } = planOf(inputs({ config }));
  assert.doesNotMatch(files?.['config.yaml'] ?? '', /backends|ghost/);
  assert.match(files?.['backends.yaml'] ?? '', /name: alpha/);
  assert.doesNotMatch(files?.['backends.yaml'] ?? '', /ghost/);
});

test('a change of backends changes neither the pod template nor the name of the ConfigMap', () => {
  const before = planOf(inputs());
  const after = planOf({ objects: [...inputs().objects, entry('beta')] });
  assert.deepEqual(planned(after, 'Deployment'), planned(before, 'Deployment'));
  assert.equal(planned(after, 'ConfigMap').metadata.name, planned(before, 'ConfigMap').metadata.name);
  assert.notDeepEqual(planned(after, 'ConfigMap')['data'], planned(before, 'ConfigMap')['data']);
});

test('another image makes another pod template and another ConfigMap', () => {
  const settings = {
    clusterDomain: 'cluster.local',
    operatorNamespace: 'x',
    operatorKeys: [],
    runtimeImage: 'vmcp:2',
    bridgeImage: 'b',
  };
  const other = planOf({ ...inputs(), settings });
  assert.notEqual(planned(other, 'ConfigMap').metadata.name, planned(planOf(inputs()), 'ConfigMap').metadata.name);
});

test('authorities that all servers trust are mounted where their namespace has them', () => {
  assert.doesNotMatch(JSON.stringify(podSpecOf(planOf(inputs()))), /NODE_EXTRA_CA_CERTS|trusted-ca/);
  const trustedCa = { configMap: 'company-ca', key: 'all.pem' };
  const pod = podSpecOf(planOf({ ...inputs(), settings: { ...DEFAULT_SETTINGS, trustedCa } }));
  const [container] = pod.containers as readonly { env?: object[]; volumeMounts?: { name: string }[] }[];
  assert.deepEqual(container?.env, [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/vmcp/trusted-ca/ca.crt' }]);
  const [mount] = container.volumeMounts?.filter(({ name }) => name === 'vmcp-trusted-ca') ?? [];
  assert.deepEqual(mount, { name: 'vmcp-trusted-ca', mountPath: '/etc/vmcp/trusted-ca', readOnly: true });
  assert.deepEqual(
    (pod['volumes'] as readonly { name: string; configMap?: object }[]).find(({ name }) => name === mount.name)
      ?.configMap,
    { name: 'company-ca', items: [{ key: 'all.pem', path: 'ca.crt' }], optional: true },
  );
  const own = { name: 'NODE_EXTRA_CA_CERTS', value: '/mine/ca.crt' };
  const spec = { podTemplateSpec: { spec: { containers: [{ name: 'vmcp', env: [own] }] } } };
  const [patched] = podSpecOf(planOf({ ...inputs(spec), settings: { ...DEFAULT_SETTINGS, trustedCa } })).containers;
  assert.deepEqual((patched as { env?: object[] }).env, [own], 'the pod template has the last word');
});

test('pods cannot be taken for flags: no variables of Services in the environment', () => {
  assert.equal(podSpecOf(planOf(inputs()))['enableServiceLinks'], false);
});

test('planning over what a first plan made gives the same plan', () => {
  const first = planOf(inputs());
  const made = (first.objects ?? []).map((object) => ({
    ...object,
    metadata: { ...object.metadata, uid: object.kind },
  }));
  const owner = { ...server(), status: first.status };
  const second = planOf({ objects: [owner, group(), entry('alpha'), ...made] });
  assert.deepEqual(second, first);
});

test('a domain of the cluster reaches every name that is formed', () => {
  const settings = {
    clusterDomain: 'corp.example',
    operatorNamespace: 'x',
    operatorKeys: [],
    runtimeImage: 'vmcp:1',
    bridgeImage: 'b',
  };
  const plan = planOf({ ...inputs(), settings });
  assert.equal(statusOf(plan)['url'], 'http://vmcp-demo.default.svc.corp.example:4483/mcp');
  assert.match(plan.config?.['config.yaml'] ?? '', /- vmcp-demo\.default\.svc\.corp\.example$/m);
});

test('what serves under the old spec is left alone when nothing is acceptable', () => {
  const plan = planOf({
    objects: [
      server({ podTemplateSpec: { spec: { containers: [{ image: 'nameless' }] } } }),
      group(),
      availableDeployment,
    ],
  });
  assert.equal(plan.objects, undefined);
  assert.equal(plan.config, undefined);
  assert.match(plan.withheld?.['config.yaml'] ?? '', /^formatVersion: 1/);
});
