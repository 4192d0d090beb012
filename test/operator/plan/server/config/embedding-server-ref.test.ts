import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { virtualMcpServer } from '../../../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyText } from '../../../../../operator/object.ts';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { objectsSource } from '../../../../../operator/read/source.ts';
import { covers } from '../../../../requirements.ts';
import { availableDeployment, condition, group, planned, server, statusOf } from '../../plan-of-demo.ts';
import { planWith } from '../../plan-with-everything-built.ts';

const URL = 'http://embeddingserver-minilm.default.svc.cluster.local:8080';

const embeddingServer = (phase: string, namespace = 'default'): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'EmbeddingServer',
  metadata: { name: 'minilm', namespace },
  spec: {},
  status: { phase },
});

const searching = (optimizer: object | undefined = {}): KubeObject =>
  server({ embeddingServerRef: { name: 'minilm' }, ...(optimizer && { config: { optimizer } }) });

const planOf = (...objects: readonly KubeObject[]): Plan => planWith({}, group(), ...objects);

const optimizerIn = (plan: Plan): unknown =>
  (parse(plan.config?.['config.yaml'] ?? '') as { readonly optimizer?: unknown }).optimizer;

covers('optimizer.embedding-service.filled-from-ref');
test('the address of the EmbeddingServer is rendered as that of the embedding service', () => {
  const plan = planOf(searching(), embeddingServer('Ready'));
  assert.deepEqual(optimizerIn(plan), { embeddingService: URL });
  assert.equal(condition(plan, 'EmbeddingServerReady')?.status, 'True');
  assert.equal(condition(plan, 'ConfigOverridden'), undefined);
});

covers('optimizer.embedding-service.override-warns', 'optimizer.embedding-service.overridden-by-ref');
test('an address written by hand gives way, with a condition and an event that say so', () => {
  const plan = planOf(searching({ embeddingService: 'http://elsewhere:8080' }), embeddingServer('Ready'));
  assert.deepEqual(optimizerIn(plan), { embeddingService: URL });
  const words =
    /spec\.embeddingServerRef takes precedence over spec\.config\.optimizer\.embeddingService, which says something else/;
  assert.match(condition(plan, 'ConfigOverridden')?.message ?? '', words);
  assert.ok(plan.events.some(({ type, message }) => type === 'Warning' && words.test(message)));
});

test('the same address written by hand is no news', () => {
  const plan = planOf(searching({ embeddingService: `${URL}/` }), embeddingServer('Ready'));
  assert.equal(condition(plan, 'ConfigOverridden'), undefined);
});

covers('optimizer.embedding-server-ref.must-be-ready');
test('until the EmbeddingServer is ready the server waits, and nothing is made', () => {
  for (const phase of ['Pending', 'Downloading', 'Failed']) {
    const plan = planOf(searching(), embeddingServer(phase));
    assert.equal(statusOf(plan)['phase'], 'Pending');
    assert.equal(plan.objects, undefined);
    assert.deepEqual(
      [condition(plan, 'EmbeddingServerReady')?.status, condition(plan, 'EmbeddingServerResolved')?.status],
      ['False', 'True'],
    );
  }
  assert.ok(planOf(searching(), embeddingServer('Ready')).objects);
});

test('a server that serves already goes on while the EmbeddingServer is away, and says so', () => {
  const first = planOf(searching(), embeddingServer('Ready'));
  const children = (first.objects ?? []).map((object) => ({
    ...object,
    ...(object.kind === 'Deployment' && { ...availableDeployment, spec: object['spec'] }),
  }));
  const plan = planOf(searching(), embeddingServer('Downloading'), ...children);
  assert.deepEqual(planned(plan, 'ConfigMap')['data'], planned(first, 'ConfigMap')['data']);
  assert.equal(statusOf(plan)['phase'], 'Degraded');
  assert.match(String(statusOf(plan)['message']), /EmbeddingServer minilm cannot be used/);
});

covers('operator.ref.embedding-server.same-namespace');
test('an EmbeddingServer of another namespace counts as missing', () => {
  const plan = planOf(searching(), embeddingServer('Ready', 'elsewhere'));
  assert.equal(condition(plan, 'EmbeddingServerResolved')?.reason, 'EmbeddingServerNotFound');
  assert.equal(statusOf(plan)['phase'], 'Pending');
});

test('one that breaks a rule counts as missing, and its rule is reported', () => {
  const broken = { ...embeddingServer('Ready'), spec: { modelCache: { enabled: true, size: 'big' } } };
  const plan = planOf(searching(), broken);
  assert.equal(condition(plan, 'EmbeddingServerResolved')?.reason, 'EmbeddingServerInvalid');
  assert.match(condition(plan, 'EmbeddingServerResolved')?.message ?? '', /cannot be used: spec\.modelCache\.size/);
  assert.equal(plan.objects, undefined);
});

test('without an optimizer no server waits for it', () => {
  const plan = planOf(server({ embeddingServerRef: { name: 'minilm' } }));
  assert.ok(plan.objects);
});

test('a change of the EmbeddingServer is a change for the servers that name it', () => {
  const source = objectsSource([searching(), group(), embeddingServer('Ready')]);
  const affected = virtualMcpServer().affectedBy(source, embeddingServer('Ready'));
  assert.deepEqual(affected.map(keyText), ['VirtualMCPServer/default/demo']);
});
