import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import type { ServerSpec } from '../../../operator/plan/server-spec.ts';
import type { Accepted, ServerBundle } from '../../../operator/plan/server/bundle.ts';
import { resolveServer } from '../../../operator/read/resolve.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS } from '../plan/golden.ts';
import { SERVER_KEY, availableDeployment, entry, group, ownedByServer, server } from '../plan/plan-of-demo.ts';

const resolve = (...objects: readonly KubeObject[]): ServerBundle => {
  const bundle = resolveServer(objectsSource(objects), SERVER_KEY, DEFAULT_SETTINGS.mac);
  assert.ok(bundle !== undefined);
  return bundle;
};

const labels = {
  'app.kubernetes.io/name': 'vmcp',
  'app.kubernetes.io/instance': 'demo',
  'app.kubernetes.io/managed-by': 'vmcp-operator',
  'app.kubernetes.io/component': 'virtualmcpserver',
};

const configMap = (hash: string, creationTimestamp: string, accepted: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `vmcp-demo-${hash}`,
    namespace: 'default',
    creationTimestamp,
    labels,
    ...ownedByServer,
    ...metadata,
  },
  data: { 'accepted.json': accepted, 'accepted.seal': 'sealed', 'config.yaml': '' },
});

const acceptedSpec = (name: string): string =>
  JSON.stringify({ generation: 1, spec: { groupRef: { name }, incomingAuth: { type: 'anonymous' } } });

const naming = (hash: string): object => ({
  spec: { template: { spec: { volumes: [{ name: 'vmcp-config', configMap: { name: `vmcp-demo-${hash}` } }] } } },
});

const deploymentNaming = (hash: string): KubeObject => ({ ...availableDeployment, ...naming(hash) });

/** Made by the Deployment. */
const replicaSetNaming = (hash: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: {
    name: `vmcp-demo-${hash}`,
    namespace: 'default',
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'vmcp-demo', uid: 'd1', controller: true }],
  },
  ...naming(hash),
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

const [FIRST, SECOND, THIRD, LOST] = ['0000000001', '0000000002', '0000000003', '00000000ff'];
const [JANUARY, FEBRUARY, MARCH] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'];

const groupIn = (accepted: Accepted | undefined): string | undefined =>
  (accepted?.written as Partial<ServerSpec> | undefined)?.groupRef?.name;

const acceptedGroup = (...objects: readonly KubeObject[]): string | undefined =>
  groupIn(resolve(server(), ...objects).accepted);

test('the accepted spec is that of the ConfigMap which the Deployment names, not of the newest', () => {
  const bundle = resolve(
    server(),
    deploymentNaming(FIRST),
    configMap(FIRST, JANUARY, acceptedSpec('first')),
    configMap(SECOND, FEBRUARY, acceptedSpec('second')),
  );
  assert.equal(groupIn(bundle.accepted), 'first');
  assert.deepEqual([...bundle.groups.keys()], ['tools', 'first']);
});

test('when that one is lost, the newest other one of the server counts', () => {
  const others = [configMap(FIRST, JANUARY, acceptedSpec('older')), configMap(SECOND, FEBRUARY, acceptedSpec('newer'))];
  assert.equal(acceptedGroup(deploymentNaming(LOST), ...others), 'newer');
});

test('one that a ReplicaSet of the Deployment names comes before any that no ReplicaSet names', () => {
  const others = [
    configMap(FIRST, JANUARY, acceptedSpec('served')),
    configMap(SECOND, FEBRUARY, acceptedSpec('unused')),
  ];
  assert.equal(acceptedGroup(deploymentNaming(LOST), replicaSetNaming(FIRST), ...others), 'served');
});

const notSpecs = ['{', '{}', 'null', '[]', '"text"', '{"spec":null}', '{"spec":{"groupRef":{}}}', '{"spec":[]}'];
for (const text of [
  ...notSpecs,
  JSON.stringify({ spec: { groupRef: { name: 'x' }, incomingAuth: { type: 'none' } } }),
]) {
  test(`an accepted.json that holds ${text} is none, and the next one counts`, () => {
    const broken = configMap(THIRD, MARCH, text);
    assert.equal(acceptedGroup(deploymentNaming(THIRD), broken), undefined);
    assert.equal(acceptedGroup(deploymentNaming(THIRD), broken, configMap(FIRST, JANUARY, acceptedSpec('a'))), 'a');
  });
}

test('what only looks like a ConfigMap of the server holds no accepted spec', () => {
  const ownerReferences = ownedByServer.ownerReferences.map((each) => ({ ...each, controller: false }));
  const strange = (metadata: object): KubeObject => configMap(SECOND, FEBRUARY, acceptedSpec('strange'), metadata);
  for (const metadata of [{ ownerReferences }, { labels: {} }, { name: 'vmcp-demo-extra' }, { name: 'mine' }]) {
    assert.equal(acceptedGroup(availableDeployment, strange(metadata)), undefined, JSON.stringify(metadata));
  }
  assert.equal(acceptedGroup(availableDeployment, strange({})), 'strange');
});

test('what bears the name of a child and belongs to another owner is not taken for a child', () => {
  const foreign: KubeObject = {
    ...availableDeployment,
    metadata: { name: 'vmcp-demo', namespace: 'default', uid: 'x' },
  };
  assert.equal(resolve(server(), foreign).children.deployment, undefined);
  const ownerReferences = ownedByServer.ownerReferences.map((each) => ({ ...each, controller: false }));
  const notControlled = { ...foreign, metadata: { ...foreign.metadata, ownerReferences } };
  assert.equal(resolve(server(), notControlled).children.deployment, undefined);
});

test('pods are those that the Deployment controls, not whatever carries the labels', () => {
  const made = (
    kind: string,
    name: string,
    by: { readonly kind: string; readonly uid: string; readonly controller?: boolean },
  ): KubeObject => ({
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
    made('Pod', 'hanger-on', { kind: 'ReplicaSet', uid: 'uid-rs', controller: false }),
  );
  assert.deepEqual(
    bundle.children.pods.map(({ metadata }) => metadata.name),
    ['ours'],
  );
});
