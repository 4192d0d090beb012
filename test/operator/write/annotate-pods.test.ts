import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { hashOf } from '../../../operator/plan/canonical.ts';
import { type Mountable, podsToAnnotate } from '../../../operator/write/annotate-pods.ts';

const data = { 'config.yaml': 'formatVersion: 1\n' };

const configMap = (changedAt: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'config',
    managedFields: [{ manager: 'vmcp-operator', operation: 'Apply', time: changedAt }],
  },
  data,
});

const pod = (
  createdAt: string,
  more: { readonly hash?: string; readonly phase?: string; readonly nodeName?: string } = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'pod',
    creationTimestamp: createdAt,
    ...(more.hash === undefined ? {} : { annotations: { 'vmcp.dev/config-hash': more.hash } }),
  },
  spec: { nodeName: more.nodeName ?? 'node', volumes: [{ name: 'config', configMap: { name: 'config' } }] },
  status: { phase: more.phase ?? 'Running' },
});

const own = (configMap: KubeObject): Mountable => ({ configMaps: [configMap], metadataOf: () => undefined });

const marks = (one: KubeObject, changedAt: string): number => podsToAnnotate(own(configMap(changedAt)), [one]).length;

const early = '2026-11-20T12:00:00Z';
const late = '2026-11-20T12:00:01Z';

test('a pod older than the last change of its config is annotated once', () => {
  assert.equal(marks(pod(early), late), 1);
  assert.equal(marks(pod(early, { hash: hashOf([data], 10) }), late), 0);
  assert.equal(marks(pod(early, { hash: 'of an earlier change' }), late), 1);
});

test('a pod made after the change has read it already', () => {
  assert.equal(marks(pod(late), early), 0);
});

test('a pod made in the second of the change may have read what was before, and is annotated once', () => {
  assert.equal(marks(pod(late), late), 1);
  assert.equal(marks(pod(late, { hash: hashOf([data], 10) }), late), 0);
});

test('a change of a key that pods do not mount is no change to them', () => {
  const volume = {
    name: 'config',
    configMap: { name: 'config', items: [{ key: 'config.yaml', path: 'config.yaml' }] },
  };
  const told = pod(early, { hash: hashOf([data], 10) });
  const partly = { ...told, spec: { nodeName: 'node', volumes: [volume] } };
  const withMore = { ...configMap(late), data: { ...data, 'accepted.json': '{"generation":2}' } };
  assert.equal(podsToAnnotate(own(withMore), [partly]).length, 0);
  assert.equal(podsToAnnotate(own({ ...withMore, data: { 'config.yaml': 'other' } }), [partly]).length, 1);
});

test('a pod that is over is left alone', () => {
  assert.equal(marks(pod(early, { phase: 'Succeeded' }), late), 0);
});

test('a pod that mounts another ConfigMap is left alone', () => {
  const other = { ...pod(early), spec: { nodeName: 'node', volumes: [{ configMap: { name: 'other' } }] } };
  assert.equal(marks(other, late), 0);
});

test('a ConfigMap among the sources of a projected volume counts', () => {
  const projected = { sources: [{ secret: { name: 's' } }, { configMap: { name: 'config' } }] };
  assert.equal(marks({ ...pod(early), spec: { nodeName: 'node', volumes: [{ projected }] } }, late), 1);
});

const unseen = (kind: 'AnyConfigMap' | 'Secret', changedAt: string, resourceVersion = '1'): Mountable => {
  const managedFields = [{ manager: 'kubectl', operation: 'Update', time: changedAt }] as const;
  const object: KubeObject = { apiVersion: 'v1', kind, metadata: { name: 'theirs', resourceVersion, managedFields } };
  return {
    configMaps: [],
    metadataOf: (asked, name) => (asked === kind && name === object.metadata.name ? object : undefined),
  };
};

const mounting = (source: object, hash?: string): KubeObject => ({
  ...pod(early, hash === undefined ? {} : { hash }),
  spec: { nodeName: 'node', volumes: [{ projected: { sources: [source] } }] },
});

test('a Secret, and a ConfigMap of others, whose content changed is annotated once for each version', () => {
  const told = hashOf([{ version: '1' }], 10);
  for (const [kind, source] of [
    ['Secret', { secret: { name: 'theirs' } }],
    ['AnyConfigMap', { configMap: { name: 'theirs' } }],
  ] as const) {
    assert.equal(podsToAnnotate(unseen(kind, late), [mounting(source)]).length, 1);
    assert.equal(podsToAnnotate(unseen(kind, late), [mounting(source, told)]).length, 0);
    assert.equal(podsToAnnotate(unseen(kind, late, '2'), [mounting(source, told)]).length, 1);
    assert.equal(podsToAnnotate(unseen(kind, '2026-11-20T11:59:59Z'), [mounting(source)]).length, 0);
  }
});
