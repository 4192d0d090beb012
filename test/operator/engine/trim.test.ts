import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trim } from '../../../operator/engine/trim.ts';
import type { KubeObject, ManagedFields } from '../../../operator/object.ts';
import { isRuntime } from '../../../operator/plan/server/pod-template.ts';
import { runtime, server } from '../plan/fronted-world.ts';

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

test('of what is seen by its metadata alone, who changed the content and when is kept', () => {
  const change = { manager: 'kubectl', operation: 'Update', time: '2026-11-20T12:00:00Z', fieldsV1: {} };
  const content = entry('kubectl', 'Update', { 'f:data': { 'f:password': {} }, 'f:type': {} });
  const label = entry('labeler', 'Update', { 'f:metadata': { 'f:labels': {} } });
  for (const kind of ['Secret', 'AnyConfigMap']) assert.deepEqual(kept(kind, [label, content]), [change]);
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
  assert.deepEqual(trim(pod('mcp'))['spec'], { volumes, containers: [{ name: 'mcp' }] });
});
