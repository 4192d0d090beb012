import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpGroup } from '../../../operator/kinds/mcp-group.ts';
import { mcpServerEntry } from '../../../operator/kinds/mcp-server-entry.ts';
import { virtualMcpServer } from '../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyText } from '../../../operator/object.ts';
import { planGroup } from '../../../operator/plan/group.ts';
import { objectsSource } from '../../../operator/read/objects-source.ts';
import type { Source } from '../../../operator/read/source.ts';
import { entry, group, server } from '../plan/world.ts';

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

test('a server that lives on its last good spec hears of every group: it may be served from another than it names', () => {
  const status = { conditions: [{ type: 'Ready', reason: 'LastGoodSpecServes' }] };
  const lastGood = { ...other(), status };
  const keys = virtualMcpServer.affectedBy(objectsSource([lastGood]), group()).map(keyText);
  assert.deepEqual(keys, ['VirtualMCPServer/default/other']);
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
