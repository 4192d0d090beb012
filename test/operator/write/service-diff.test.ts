import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { isSameService, repairOf } from '../../../operator/write/service-diff.ts';

const service = (spec: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'x', namespace: 'here', uid: 'u', resourceVersion: '7' },
  spec,
});

const http = { name: 'http', port: 4483, targetPort: 'http' };
const desired = service({ selector: { app: 'x' }, ports: [http] });

test('defaults of the server and a node port make no other Service', () => {
  const live = service({
    selector: { app: 'x' },
    ports: [{ ...http, protocol: 'TCP', nodePort: 30_001 }],
    clusterIP: '10.0.0.1',
  });
  assert.equal(isSameService(desired, live), true);
  assert.equal(repairOf(desired, live), undefined);
});

test('one more key in the selector is seen, and an apply alone mends it', () => {
  for (const selector of [{ app: 'x', x: 'y' }, { app: 'y' }, undefined]) {
    const live = service({ selector, ports: [http] });
    assert.equal(isSameService(desired, live), false);
    assert.equal(repairOf(desired, live), undefined);
  }
});

test('a port that was renumbered, added or removed is patched whole, for exactly the Service that was seen', () => {
  const other = { name: 'other', port: 9 };
  for (const ports of [[{ ...http, port: 80 }], [http, other], [], [{ ...http, protocol: 'UDP' }]]) {
    const live = service({ selector: { app: 'x' }, ports });
    assert.equal(isSameService(desired, live), false);
    assert.deepEqual(repairOf(desired, live), {
      metadata: { uid: 'u', resourceVersion: '7' },
      spec: { ports: [http] },
    });
  }
});

test('the node port that the server gave is kept', () => {
  const live = service({
    selector: { app: 'x' },
    ports: [
      { name: 'other', port: 9, nodePort: 30_002 },
      { ...http, port: 80, nodePort: 30_001 },
    ],
  });
  assert.deepEqual(repairOf(desired, live), {
    metadata: { uid: 'u', resourceVersion: '7' },
    spec: { ports: [{ ...http, nodePort: 30_001 }] },
  });
});

test('other kinds have no ports to speak of', () => {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
  assert.equal(isSameService(configMap, { ...configMap, spec: { ports: [http] } }), true);
});
