import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { agrees } from '../../../operator/write/diff.ts';

const object = (ports: readonly object[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace: 'n' },
  spec: { ports },
});

/** The same as the cluster has it, with what we hold of the list. */
const stored = (ports: readonly object[], held: object): KubeObject => {
  const fieldsV1 = { 'f:spec': { 'f:ports': held } };
  const { metadata, ...content } = object(ports);
  return {
    ...content,
    metadata: { ...metadata, managedFields: [{ manager: 'vmcp-operator', operation: 'Apply', fieldsV1 }] },
  };
};

test('lists of thousands whose elements leave a part of their key to its default are not gone through once for each element', () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => 2_000 - index);
  let looks = 0;
  const ports = numbers.map((number) => ({
    get containerPort() {
      looks += 1;
      return number;
    },
  }));
  const there = numbers.map((containerPort) => ({ containerPort, protocol: 'TCP' }));
  const held = there
    .toReversed()
    .map((port) => [`k:${JSON.stringify(port)}`, { '.': {}, 'f:containerPort': {} }] as const);
  const live = stored(there, Object.fromEntries(held));
  assert.ok(agrees(object(ports), live));
  assert.ok(looks < 20 * numbers.length, `${looks} looks at ${numbers.length} elements`);
  assert.equal(agrees(object([...ports.slice(1), { containerPort: 5 }]), live), false);
  assert.equal(agrees(object([...ports, { containerPort: 2_000 }]), live), false);
});

test('an element that leaves a part of its key to its default takes the first key that no other element has taken', () => {
  const fields = ['SCTP', 'TCP', 'UDP'].map((protocol) => [
    `k:${JSON.stringify({ port: 53, protocol })}`,
    { '.': {}, 'f:port': {} },
  ]);
  const there = ['UDP', 'TCP', 'SCTP'].map((protocol) => ({ port: 53, protocol }));
  const live = stored(there, Object.fromEntries(fields));
  const [bare, sctp, udp] = [{ port: 53 }, { port: 53, protocol: 'SCTP' }, { port: 53, protocol: 'UDP' }];
  assert.ok(agrees(object([sctp, bare, udp]), live));
  assert.ok(agrees(object([udp, bare, bare]), live));
  assert.equal(agrees(object([udp, bare, bare, bare]), live), false);
  assert.equal(agrees(object([udp, bare]), live), false);
});
