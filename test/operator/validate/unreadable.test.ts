import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { hashOf } from '../../../operator/plan/canonical.ts';
import { planOfUnreadable } from '../../../operator/plan/unplanned.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS } from '../plan/golden.ts';
import { toldOf } from './violation-texts.ts';

const nested = (levels: number): object => {
  let value: object = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
};

const object = (kind: string, spec: object): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name: 'it', namespace: 'default', generation: 3 },
  spec,
});
const server = (levels: number): KubeObject =>
  object('MCPServer', { image: 'a', transport: 'sse', groupRef: { name: 'tools' }, podTemplateSpec: nested(levels) });

test('64 levels are enough for every schema', () => {
  assert.deepEqual(toldOf(server(64)), []);
  assert.deepEqual(toldOf(server(65)), ['spec.podTemplateSpec: is nested more than 64 levels deep; make it flatter']);
});

test('field names one below another may have 2,048 characters together', () => {
  const named = (length: number): KubeObject =>
    object('MCPServer', {
      image: 'a',
      transport: 'sse',
      groupRef: { name: 'tools' },
      podTemplateSpec: { a: { ['b'.repeat(length - 'podTemplateSpec'.length - 1)]: { c: 1 } } },
    });
  assert.deepEqual(toldOf(named(2048)), []);
  assert.deepEqual(toldOf(named(2049)), [
    'spec.podTemplateSpec: has field names of more than 2048 characters, one below another; make them shorter',
  ]);
});

test('what is nested so deep that walking it fails is told in its status, and nothing else is made of it', () => {
  const plan = planOfUnreadable(server(5000));
  assert.deepEqual([plan?.status?.['observedGeneration'], plan?.objects], [3, undefined]);
  assert.deepEqual(
    plan?.events.map(({ reason }) => reason),
    ['Invalid'],
  );
  assert.equal(planOfUnreadable(server(10)), undefined);
});

test('a server over a group with such a member is planned all the same', () => {
  const virtual = object('VirtualMCPServer', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } });
  const group = { ...object('MCPGroup', {}), metadata: { name: 'tools', namespace: 'default' } };
  const source = objectsSource([virtual, group, server(5000)]);
  const kind = reconciledKinds().find((each) => each.kind === 'VirtualMCPServer') ?? assert.fail();
  const bundle = kind.resolve(source, { kind: 'VirtualMCPServer', namespace: 'default', name: 'it' });
  const { discoveredBackends } = (kind.plan(bundle, DEFAULT_SETTINGS).status ?? {}) as {
    discoveredBackends?: unknown[];
  };
  assert.equal(discoveredBackends?.length, 1);
});

test('a hash of something very deep is a hash', () => assert.equal(hashOf(nested(5000)).length, 64));

test('keys that make every path long are refused before anything is reported with such a path', () => {
  const faults = Array.from({ length: 2_000 }, () => ({ ['__proto__x']: 1, type: 'nothing' }));
  const wide = object('VirtualMCPCompositeToolDefinition', {
    name: 'w',
    steps: [],
    parameters: { ['k'.repeat(50_000)]: faults },
  });
  assert.deepEqual(toldOf(wide), [
    'spec.parameters: has field names of more than 2048 characters, one below another; make them shorter',
  ]);
  const fits = object('VirtualMCPCompositeToolDefinition', {
    name: 'w',
    steps: [],
    parameters: { ['k'.repeat(2_000)]: 1 },
  });
  assert.ok(!toldOf(fits).some((text) => text.includes('2048')));
});
