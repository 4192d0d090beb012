import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpServerEntry } from '../../../operator/kinds/mcp-server-entry.ts';
import { kindsNaming, referrers } from '../../../operator/kinds/referrers.ts';
import { virtualMcpServer } from '../../../operator/kinds/virtual-mcp-server.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { server } from '../plan/plan-of-demo.ts';

const tools = { kind: 'MCPGroup', name: 'tools' };
const names = (objects: readonly KubeObject[]): readonly string[] => objects.map(({ metadata }) => metadata.name);

/** Tells how often its spec was looked at. */
const watched = (name: string, group: string): { readonly object: KubeObject; looks: number } => {
  const { spec, ...rest } = server({ groupRef: { name: group } }, { name });
  const subject = { looks: 0, object: rest as KubeObject };
  const get = (): unknown => {
    subject.looks += 1;
    return spec;
  };
  Object.defineProperty(subject.object, 'spec', { enumerable: true, get });
  return subject;
};

test('a burst of changes walks each object once, also when the list has changed meanwhile', () => {
  const referrersOf = referrers();
  const first = watched('a', 'tools');
  const list = [first.object, server({}, { name: 'b' })];
  assert.deepEqual(names(referrersOf(list, tools)), ['a', 'b']);
  const { looks } = first;
  for (let event = 0; event < 100; event += 1) referrersOf(list, tools);
  assert.deepEqual(names(referrersOf([first.object], tools)), ['a']);
  assert.deepEqual([looks > 0, first.looks], [true, looks]);
});

test('an object that changed, and so is another one, is walked anew', () => {
  const referrersOf = referrers();
  assert.deepEqual(names(referrersOf([server()], tools)), ['demo']);
  assert.deepEqual(referrersOf([server({ groupRef: { name: 'others' } })], tools), []);
});

test('what a kind reads of others follows from the references of its schema', () => {
  assert.deepEqual(mcpServerEntry().reads, ['MCPGroup', 'MCPExternalAuthConfig', 'Secret', 'AnyConfigMap']);
  assert.deepEqual(virtualMcpServer().reads.toSorted(), [
    'AnyConfigMap',
    'EmbeddingServer',
    'MCPExternalAuthConfig',
    'MCPGroup',
    'MCPOIDCConfig',
    'MCPRemoteProxy',
    'MCPServer',
    'MCPServerEntry',
    'MCPTelemetryConfig',
    'MCPToolConfig',
    'Pod',
    'ReplicaSet',
    'Secret',
    'VirtualMCPCompositeToolDefinition',
  ]);
});

test('what may name a shared configuration follows from the schemas too', () => {
  assert.deepEqual(kindsNaming('MCPExternalAuthConfig'), [
    'MCPRemoteProxy',
    'MCPServer',
    'MCPServerEntry',
    'VirtualMCPServer',
  ]);
  assert.deepEqual(kindsNaming('MCPOIDCConfig'), ['MCPRemoteProxy', 'MCPServer', 'VirtualMCPServer']);
  for (const kind of ['MCPTelemetryConfig', 'MCPToolConfig', 'VirtualMCPCompositeToolDefinition']) {
    assert.deepEqual(kindsNaming(kind), ['VirtualMCPServer']);
  }
});
