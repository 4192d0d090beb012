import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpGroup } from '../../../operator/kinds/mcp-group.ts';
import { mcpServerEntry as newEntryKind } from '../../../operator/kinds/mcp-server-entry.ts';
import { virtualMcpServer as newServerKind } from '../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyText } from '../../../operator/object.ts';
import { planGroup } from '../../../operator/plan/group.ts';
import { type Source, objectsSource } from '../../../operator/read/source.ts';
import { entry, group, server as unseen } from '../plan/plan-of-demo.ts';

const [virtualMcpServer, mcpServerEntry] = [newServerKind(), newEntryKind()];

/** A server whose newest spec is the one that is served. */
const server = (...parts: Parameters<typeof unseen>): KubeObject => ({
  ...unseen(...parts),
  status: { observedGeneration: 1, conditions: facts({}) },
});

const facts = (changed: Readonly<Record<string, string>>): readonly object[] =>
  Object.entries({ Valid: 'True', GroupResolved: 'True', Ready: 'False', ...changed }).map(([type, status]) => ({
    type,
    status,
    reason: 'PodsCannotStart',
  }));

const other = (): KubeObject => server({ groupRef: { name: 'others' } }, { name: 'other' });
const source: Source = objectsSource([server(), other(), group(), group('others'), entry('a'), entry('b')]);

test('a group affects the servers and entries that name it, in its namespace', () => {
  assert.deepEqual(virtualMcpServer.affectedBy(source, group()).map(keyText), ['VirtualMCPServer/default/demo']);
  assert.deepEqual(mcpServerEntry.affectedBy(source, group()).map(keyText), [
    'MCPServerEntry/default/a',
    'MCPServerEntry/default/b',
  ]);
  assert.deepEqual(virtualMcpServer.affectedBy(source, group('tools', 'elsewhere')), []);
});

test('a member of any kind affects its group and the servers over it, also one that came without being known', () => {
  for (const kind of ['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry']) {
    const member = { ...entry('fresh'), kind };
    assert.deepEqual(virtualMcpServer.affectedBy(source, member).map(keyText), ['VirtualMCPServer/default/demo']);
    assert.deepEqual(mcpGroup.affectedBy(source, member).map(keyText), ['MCPGroup/default/tools']);
  }
});

test('a member that moved affects both groups, asked once with what it was and once with what it is', () => {
  const before = entry('a');
  const after = entry('a', { groupRef: { name: 'others' } });
  const keys = [before, after].flatMap((member) => virtualMcpServer.affectedBy(source, member)).map(keyText);
  assert.deepEqual(keys, ['VirtualMCPServer/default/demo', 'VirtualMCPServer/default/other']);
});

test('a server that may be served from another spec than the newest is reconciled for every group, whatever its phase says', () => {
  const statuses = {
    'nobody has looked at it yet': undefined,
    'nobody has looked at this generation yet': { observedGeneration: 0, conditions: facts({}) },
    'its newest spec is invalid': { observedGeneration: 1, conditions: facts({ Valid: 'False' }) },
    'something that it names is missing': { observedGeneration: 1, conditions: facts({ GroupResolved: 'False' }) },
  };
  for (const [why, status] of Object.entries(statuses)) {
    const unsettled = objectsSource([{ ...other(), status }]);
    for (const changed of [group(), entry('a')]) {
      assert.deepEqual(
        virtualMcpServer.affectedBy(unsettled, changed).map(keyText),
        ['VirtualMCPServer/default/other'],
        why,
      );
    }
  }
  assert.deepEqual(virtualMcpServer.affectedBy(objectsSource([other()]), group()), []);
});

test('what is neither a group nor a member affects nothing', () => {
  const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tools', namespace: 'default' } };
  for (const kind of [virtualMcpServer, mcpGroup, mcpServerEntry])
    assert.deepEqual(kind.affectedBy(source, secret), []);
});

test('a group lists its members by kind', () => {
  const members = [entry('a'), { ...entry('b'), kind: 'MCPServer' }, entry('c')];
  const { status } = planGroup({ group: group(), members });
  assert.deepEqual([status?.['servers'], status?.['entries']], [['b'], ['a', 'c']]);
  assert.deepEqual([status?.['serverCount'], status?.['entryCount'], status?.['remoteProxyCount']], [1, 2, 0]);
});
