import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { trim } from '../../../operator/cache/trim.ts';
import type { KubeObject, ManagedFields } from '../../../operator/object.ts';
import { isRuntime } from '../../../operator/plan/server/objects/pod-template.ts';
import { agrees } from '../../../operator/write/diff.ts';
import { mountsOf } from '../../../operator/write/mounts.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';
import { runtime, server } from '../plan/fronted-server-objects.ts';

const entry = (manager: string, operation: ManagedFields['operation'], fieldsV1: object): ManagedFields => ({
  manager,
  operation,
  time: '2026-11-20T12:00:00Z',
  fieldsV1: { ...fieldsV1 },
});

const kept = (kind: string, managedFields: readonly ManagedFields[]): readonly ManagedFields[] | undefined =>
  trim({ apiVersion: 'v1', kind, metadata: { name: 'one', managedFields } }).metadata.managedFields;

test('of who manages an object only the operator is kept', () => {
  const ours = entry('vmcp-operator', 'Apply', { 'f:data': {} });
  assert.deepEqual(kept('ConfigMap', [ours, entry('kubectl', 'Update', { 'f:data': {} })]), [ours]);
});

test('of what is seen by its metadata alone, who changed the content last, and when, is kept', () => {
  const change = { manager: 'kubectl', operation: 'Update', time: '2026-11-20T12:00:00Z', fieldsV1: { 'f:data': {} } };
  const content = entry('kubectl', 'Update', { 'f:data': { 'f:password': {} }, 'f:type': {} });
  const label = entry('labeler', 'Update', { 'f:metadata': { 'f:labels': {} } });
  const older = { ...content, time: '2026-11-19T12:00:00Z' };
  for (const kind of ['Secret', 'AnyConfigMap', 'PartialObjectMetadata']) {
    assert.deepEqual(kept(kind, [label, older, content, older]), [change]);
    assert.deepEqual(kept(kind, kept(kind, [content]) ?? []), [change], 'twice is as once');
  }
});

test('what tells a container from a runtime is kept of a pod', () => {
  const { volumes } = runtime.template.spec;
  const pod = (container: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: container, namespace: 'default' },
    spec: { volumes, containers: [{ name: container, image: 'a', env: [] }] },
  });
  assert.equal(isRuntime(server({}), trim(pod('vmcp'))), true);
  assert.equal(isRuntime(server({}), trim(pod('mcp'))), false);
  const { volumes: mounted } = trim(pod('mcp'))['spec'] as { volumes: typeof volumes };
  assert.deepEqual(mountsOf({ volumes: mounted }), mountsOf({ volumes }));
});

test('of pods and ReplicaSets volumes that mount nothing of ours are not kept, nor what containers are made of', () => {
  const config = { name: 'config', configMap: { name: 'c' } };
  const podSpec = {
    volumes: [{ name: 'scratch', emptyDir: {} }, config, { name: 'claim', persistentVolumeClaim: { claimName: 'x' } }],
    containers: [{ name: 'vmcp', image: 'a', env: [{ name: 'A', value: 'b' }] }],
    nodeName: 'node',
  };
  const told = { volumes: [config], containers: [{ name: 'vmcp' }] };
  const metadata = { name: 'one', annotations: { 'deployment.kubernetes.io/revision': '3' } };
  assert.deepEqual(
    trim({ apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec, status: { phase: 'Running', hostIP: 'h' } }),
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { nodeName: 'node', ...told },
      status: { phase: 'Running' },
    },
  );
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { replicas: 2, selector: {}, template: { metadata: { labels: {} }, spec: podSpec } },
    status: { replicas: 2, fullyLabeledReplicas: 2, conditions: [] },
  };
  assert.deepEqual(trim(replicaSet), {
    ...replicaSet,
    spec: { replicas: 2, template: { spec: told } },
    status: { replicas: 2, conditions: [] },
  });
});

describe('of metadata', () => {
  const uid = (index: number) => ({ apiVersion: 'v1', kind: 'A', name: 'a', uid: `u${index}` });
  const ours = entry('vmcp-operator', 'Apply', {
    'f:metadata': {
      'f:labels': { 'f:planned': {} },
      'f:annotations': { 'f:planned': {} },
      'f:ownerReferences': { 'k:{"uid":"u90"}': {} },
    },
  });
  const child = (kind: string, metadata: object): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'one', managedFields: [ours], ...metadata },
  });
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key-${index}`, 'value']));
  const labels = { 'app.kubernetes.io/managed-by': 'vmcp-operator', planned: 'a' };

  test('all labels, annotations and owners are kept while they are small, and no finalizers', () => {
    const metadata = { labels: { any: 'b' }, annotations: { any: 'c' }, ownerReferences: [uid(1)] };
    const trimmed = trim(child('Service', { ...metadata, finalizers: ['a/b'], generateName: 'o' })).metadata;
    assert.deepEqual(trimmed, { name: 'one', managedFields: [ours], ...metadata });
  });

  test('what the operator wrote or looks at is kept where there is more, so that nothing is written for it', () => {
    const annotations = { planned: 'b', 'deployment.kubernetes.io/revision': '4' };
    const large = child('Deployment', {
      labels: { ...many, ...labels },
      annotations: { ...many, ...annotations },
      ownerReferences: Array.from({ length: 99 }, (_, index) => ({ ...uid(index), controller: index === 80 })),
    });
    const { metadata } = trim(large);
    assert.deepEqual(metadata.labels, labels);
    assert.deepEqual(metadata.annotations, annotations);
    assert.deepEqual(
      metadata.ownerReferences?.slice(0, 3).map((each) => each.uid),
      ['u80', 'u90', 'u0'],
    );
    assert.equal(metadata.ownerReferences?.length, 16);
    const plan = {
      ...large,
      metadata: { name: 'one', labels: { planned: 'a' }, annotations: { planned: 'b' }, ownerReferences: [uid(90)] },
    };
    assert.equal(agrees(plan, trim(large)), agrees(plan, large));
    const { planned: _, ...lost } = large.metadata.labels ?? {};
    assert.equal(agrees(plan, trim({ ...large, metadata: { ...large.metadata, labels: lost } })), false);
  });

  test('of one whose content is not seen only labels that the operator looks at are kept', () => {
    const trimmed = trim(child('Secret', { labels: { ...labels, team: 'a' }, annotations: { note: 'x' } })).metadata;
    assert.deepEqual(trimmed, { name: 'one', labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } });
  });

  test('a rewrite is known again in the cache, which holds less than the answer', () => {
    const rewrites = new ServerMutations();
    const stored = child('Service', { uid: 'u', labels: { ...many, ...labels } });
    const sent = child('Service', { labels: { planned: 'another' } });
    rewrites.record(sent, stored);
    assert.equal(rewrites.isKnown(sent, trim(stored)), true);
  });

  test('of our own kinds no note but that of the status is kept: any client may use the name of the operator as its manager', () => {
    const status = { ...entry('vmcp-operator', 'Apply', { 'f:status': {} }), subresource: 'status' };
    const object = { ...child('MCPGroup', { managedFields: [ours, status] }), apiVersion: 'vmcp.dev/v1beta1' };
    assert.deepEqual(trim(object).metadata.managedFields, [status]);
  });
});
