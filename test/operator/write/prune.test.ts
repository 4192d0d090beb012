import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { prune } from '../../../operator/write/prune.ts';

const owner: KubeObject = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'o', namespace: 'n', uid: 'u' } };
const configMap: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'old', namespace: 'n', uid: 'c' },
};
const replicaSet = (name: string, mounted: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, namespace: 'n', annotations: { large: 'x'.repeat(1_000) } },
  spec: { template: { spec: { volumes: [{ name: 'v', configMap: { name: mounted } }] } } },
});

interface Pruned {
  readonly removed: readonly string[];
  /** ReplicaSets that the cluster was made to send. */
  readonly looked: readonly string[];
  /** What is left of those in memory. */
  readonly held: readonly KubeObject[];
}

/** Prunes the ConfigMap `old` where the cluster has these ReplicaSets and the cache has none of them yet. */
const pruned = async (replicaSets: readonly KubeObject[]): Promise<Pruned> => {
  const [removed, looked, held]: [string[], string[], KubeObject[]] = [[], [], []];
  const list: ApiClient['list'] = async (_, signal, keep = (object) => object) => {
    for (const each of replicaSets) {
      await Promise.resolve();
      signal.throwIfAborted();
      looked.push(each.metadata.name);
      held.push(keep(each));
    }
    return { items: held, resourceVersion: '1' };
  };
  const remove: ApiClient['remove'] = ({ name }) => Promise.resolve(void removed.push(name));
  const cache = { list: () => [], controlledBy: () => [configMap] };
  const planned = { kinds: ['ConfigMap'], objects: [], isPrunable: () => true };
  await prune(owner, planned, { api: { list, remove }, cache }, new AbortController().signal);
  return { removed, looked, held };
};

test('a ConfigMap that no ReplicaSet names goes, and nothing of those that were looked at is kept but names', async () => {
  const { removed, held } = await pruned([replicaSet('a', 'other'), replicaSet('b', 'another')]);
  assert.deepEqual(removed, ['old']);
  assert.deepEqual(
    held,
    ['a', 'b'].map((name) => ({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { namespace: 'n', name } })),
  );
});

test('a ConfigMap that a ReplicaSet names stays, and no further ones are asked for', async () => {
  const { removed, looked } = await pruned([replicaSet('a', 'other'), replicaSet('b', 'old'), replicaSet('c', 'x')]);
  assert.deepEqual([removed, looked], [[], ['a', 'b']]);
});

test('a list that fails keeps the ConfigMap, and its error is thrown', async () => {
  const fault = new Error('connection reset');
  const list = () => Promise.reject(fault);
  const remove = () => assert.fail();
  const cache = { list: () => [], controlledBy: () => [configMap] };
  const planned = { kinds: ['ConfigMap'], objects: [], isPrunable: () => true };
  const { signal } = new AbortController();
  await assert.rejects(prune(owner, planned, { api: { list, remove }, cache }, signal), fault);
});
