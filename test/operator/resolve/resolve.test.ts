import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { objectsSource } from '../../../operator/read/objects-source.ts';
import type { ServerBundle } from '../../../operator/plan/server/bundle.ts';
import { resolveServer } from '../../../operator/resolve.ts';
import { SERVER_KEY, availableDeployment, entry, group, ownedByServer, server } from '../plan/world.ts';

const resolve = (...objects: readonly KubeObject[]): ServerBundle => {
  const bundle = resolveServer(objectsSource(objects), SERVER_KEY);
  assert.ok(bundle !== undefined);
  return bundle;
};

const configMap = (name: string, creationTimestamp: string, accepted: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', creationTimestamp, ...ownedByServer },
  data: { 'accepted.json': accepted, 'config.yaml': '' },
});

const acceptedSpec = (name: string): string =>
  JSON.stringify({ generation: 1, spec: { groupRef: { name }, incomingAuth: { type: 'anonymous' } } });

const deploymentNaming = (configMapName: string): KubeObject => ({
  ...availableDeployment,
  spec: { template: { spec: { volumes: [{ name: 'vmcp-config', configMap: { name: configMapName } }] } } },
});

test('a server that is gone, or on its way out, has no bundle', () => {
  assert.equal(resolveServer(objectsSource([]), SERVER_KEY), undefined);
  const going = server({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  assert.equal(resolveServer(objectsSource([going]), SERVER_KEY), undefined);
});

test('a bundle cannot be changed', () => {
  assert.equal(Object.isFrozen(resolve(server())), true);
});

test('members come in name order, under one name MCPServer before MCPRemoteProxy before MCPServerEntry', () => {
  const as = (kind: string, name: string): KubeObject => ({ ...entry(name), kind });
  const bundle = resolve(
    server(),
    group(),
    entry('b'),
    as('MCPRemoteProxy', 'b'),
    as('MCPServer', 'b'),
    entry('a'),
    as('MCPServer', 'c'),
  );
  const members = bundle.groups.get('tools')?.members.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  assert.deepEqual(members, ['MCPServerEntry a', 'MCPServer b', 'MCPRemoteProxy b', 'MCPServerEntry b', 'MCPServer c']);
});

test('an entry on its way out is no member any more', () => {
  const going: KubeObject = {
    ...entry('a'),
    metadata: { ...entry('a').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  assert.deepEqual(resolve(server(), group(), going).groups.get('tools')?.members, []);
});

test('the accepted spec is that of the ConfigMap which the Deployment names, not of the newest', () => {
  const bundle = resolve(
    server(),
    deploymentNaming('old'),
    configMap('old', '2026-01-01T00:00:00Z', acceptedSpec('first')),
    configMap('new', '2026-01-02T00:00:00Z', acceptedSpec('second')),
  );
  assert.equal(bundle.accepted?.spec.groupRef.name, 'first');
  assert.deepEqual([...bundle.groups.keys()], ['tools', 'first']);
});

test('when that one is lost or broken, the newest other one of the server counts', () => {
  const others = [
    configMap('a', '2026-01-01T00:00:00Z', acceptedSpec('older')),
    configMap('b', '2026-01-02T00:00:00Z', acceptedSpec('newer')),
    configMap('broken', '2026-01-03T00:00:00Z', '{'),
  ];
  assert.equal(resolve(server(), deploymentNaming('lost'), ...others).accepted?.spec.groupRef.name, 'newer');
  assert.equal(resolve(server(), deploymentNaming('broken'), ...others).accepted?.spec.groupRef.name, 'newer');
});

test('what bears the name of a child and belongs to somebody else is not taken for a child', () => {
  const foreign: KubeObject = {
    ...availableDeployment,
    metadata: { name: 'vmcp-demo', namespace: 'default', uid: 'x' },
  };
  assert.equal(resolve(server(), foreign).children.deployment, undefined);
});

test('pods are those that the Deployment controls, not whatever carries the labels', () => {
  const labels = {
    'app.kubernetes.io/name': 'vmcp',
    'app.kubernetes.io/instance': 'demo',
    'app.kubernetes.io/managed-by': 'vmcp-operator',
    'app.kubernetes.io/component': 'virtualmcpserver',
  };
  const made = (kind: string, name: string, by: { readonly kind: string; readonly uid: string }): KubeObject => ({
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      labels,
      ownerReferences: [{ apiVersion: 'apps/v1', name: 'any', controller: true, ...by }],
    },
  });
  const bundle = resolve(
    server(),
    availableDeployment,
    made('ReplicaSet', 'rs', { kind: 'Deployment', uid: 'd1' }),
    made('Pod', 'ours', { kind: 'ReplicaSet', uid: 'uid-rs' }),
    made('Pod', 'stranger', { kind: 'ReplicaSet', uid: 'uid-of-another' }),
  );
  assert.deepEqual(
    bundle.children.pods.map(({ metadata }) => metadata.name),
    ['ours'],
  );
});
