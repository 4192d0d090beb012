import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { one, render, singleRights, type Rendered } from './rendered.ts';

const NAMESPACES = 'namespaces={team-a,vmcp-system}';
const WATCHED = ['team-a', 'vmcp-system'];

/** The rules of all roles of a name, by namespace. */
const rolesOf = (objects: readonly Rendered[], name: string): readonly (readonly [string | undefined, string[]])[] =>
  objects
    .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === name)
    .map(({ metadata, rules }) => [metadata.namespace, singleRights(rules)]);

const bindingsOf = (objects: readonly Rendered[], name: string): readonly (string | undefined)[] =>
  objects
    .filter(({ kind, metadata, roleRef }) => kind === 'RoleBinding' && metadata.name === name && roleRef?.name === name)
    .map(({ metadata }) => metadata.namespace);

describe('the chart with namespaces', () => {
  test('grants in each of them what it grants everywhere without, and nothing in the others', async () => {
    const objects = await render(NAMESPACES);
    const rights = singleRights(one(await render(), 'ClusterRole').rules);
    assert.deepEqual(
      rolesOf(objects, 'vmcp-operator-watched'),
      WATCHED.map((namespace) => [namespace, rights]),
    );
    assert.deepEqual(bindingsOf(objects, 'vmcp-operator-watched'), WATCHED);
    assert.ok(!objects.some(({ kind, metadata }) => kind.startsWith('Cluster') && metadata.name === 'vmcp-operator'));
  });

  test('leaves its own Role, in its own namespace, as it is', async () => {
    assert.deepEqual(one(await render(NAMESPACES), 'Role'), one(await render(), 'Role'));
  });

  test('leaves the webhook one right in the whole cluster: on its own configuration', async () => {
    const objects = await render(NAMESPACES);
    const everywhere = singleRights(one(await render(), 'ClusterRole', 'vmcp-operator-webhook').rules);
    const clusterWide = one(objects, 'ClusterRole', 'vmcp-operator-webhook').rules;
    assert.deepEqual(
      clusterWide?.map(({ resources, resourceNames }) => [resources, resourceNames]),
      [[['validatingwebhookconfigurations'], ['vmcp-operator-webhook']]],
    );
    const rest = everywhere.filter((right) => !singleRights(clusterWide).includes(right));
    assert.deepEqual(
      rolesOf(objects, 'vmcp-operator-webhook-watched'),
      WATCHED.map((namespace) => [namespace, rest]),
    );
    assert.deepEqual(bindingsOf(objects, 'vmcp-operator-webhook-watched'), WATCHED);
  });

  test('without a webhook and CRDs makes nothing that belongs to the whole cluster', async () => {
    const objects = await render(NAMESPACES, 'webhook.enabled=false', 'crds.install=false');
    assert.deepEqual(
      objects.filter(({ metadata }) => metadata.namespace === undefined).map(({ kind }) => kind),
      [],
    );
  });
});
