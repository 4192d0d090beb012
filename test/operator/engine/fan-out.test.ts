import assert from 'node:assert/strict';
import { test } from 'node:test';
import { affectedKeys, ownKeys } from '../../../operator/engine/fan-out.ts';
import type { ReconciledKind } from '../../../operator/kinds/kind.ts';
import { keyOf, keyText } from '../../../operator/object.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { Source } from '../../../operator/read/source.ts';
import { widgetKind } from './widget.ts';

const widget = (name: string, inputRef: string): KubeObject => ({
  apiVersion: 'test.vmcp.dev/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'here' },
  spec: { greeting: 'hello', inputRef },
});

const widgets = [widget('one', 'input'), widget('two', 'input'), widget('three', 'other')];

const source: Source = {
  get: () => undefined,
  list: (kind) => (kind === 'Widget' ? widgets : []),
};

const kinds: readonly ReconciledKind[] = [widgetKind];

const keys = (before: KubeObject | undefined, after: KubeObject | undefined): readonly string[] => {
  const change = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
  return affectedKeys(kinds, source, change).map(keyText);
};

const configMap = (name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'here', ...more },
});

test('a change of an object concerns itself', () => {
  assert.deepEqual(keys(undefined, widget('one', 'input')), ['Widget/here/one']);
});

test('a change of a referenced object concerns whatever refers to it, when it comes, changes and goes', () => {
  const input = configMap('input');
  const both = ['Widget/here/one', 'Widget/here/two'];
  assert.deepEqual(keys(undefined, input), both);
  assert.deepEqual(keys(input, { ...input, data: { a: '1' } }), both);
  assert.deepEqual(keys(input, undefined), both);
});

test('a change of a child concerns its owner', () => {
  const owner = { apiVersion: 'test.vmcp.dev/v1', kind: 'Widget', name: 'three', uid: 'u' };
  assert.deepEqual(keys(undefined, configMap('child', { ownerReferences: [owner] })), ['Widget/here/three']);
});

test('a pod concerns the resource that its labels name, since a ReplicaSet owns it', () => {
  const labels = {
    'app.kubernetes.io/instance': 'one',
    'app.kubernetes.io/component': 'widget',
    'app.kubernetes.io/managed-by': 'vmcp-operator',
  };
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'u' }];
  const pod: KubeObject = { ...configMap('pod', { labels, ownerReferences }), kind: 'Pod' };
  assert.deepEqual(keys(undefined, pod), ['Widget/here/one']);
  const behind = { ...labels, 'app.kubernetes.io/component': 'widget-backend' };
  assert.deepEqual(keys(undefined, { ...pod, metadata: { ...pod.metadata, labels: behind } }), ['Widget/here/one']);
  const foreign = {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...labels, 'app.kubernetes.io/managed-by': 'helm' } },
  };
  assert.deepEqual(keys(undefined, foreign), []);
});

test('what was and what is both count: an object that changes hands concerns both', () => {
  const ownedBy = (name: string): KubeObject =>
    configMap('child', { ownerReferences: [{ apiVersion: 'test.vmcp.dev/v1', kind: 'Widget', name, uid: name }] });
  assert.deepEqual(keys(ownedBy('one'), ownedBy('two')), ['Widget/here/one', 'Widget/here/two']);
});

test('a change of version and managed fields alone enqueues no key', () => {
  const before = configMap('input', { resourceVersion: '1' });
  const after = configMap('input', { resourceVersion: '2', managedFields: [{ manager: 'x', operation: 'Update' }] });
  assert.deepEqual(keys(before, after), []);
});

test('while the first lists come in, only the objects of our own kinds are noted', () => {
  assert.deepEqual(ownKeys(kinds, { after: configMap('input') }), []);
  assert.equal(ownKeys(kinds, { after: widget('one', 'input') }).length, 1);
});

test('of a Secret only the version tells that its content changed', () => {
  const before: KubeObject = { ...configMap('input', { resourceVersion: '1' }), kind: 'Secret' };
  const after: KubeObject = { ...before, metadata: { ...before.metadata, resourceVersion: '2' } };
  const reading = [{ ...widgetKind, reads: ['Secret'], affectedBy: () => [keyOf(widget('one', 'input'))] }];
  assert.deepEqual(affectedKeys(reading, source, { before, after }).map(keyText), ['Widget/here/one']);
});
