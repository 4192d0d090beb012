import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../../operator/object.ts';
import { rolloutStateOf } from '../../../../operator/plan/workload/rollout-state.ts';

const statefulSet: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'mcpserver-a' },
  spec: { replicas: 1 },
};
const pod = (message: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'mcpserver-a-0' },
  status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] },
});
const told = (pods: readonly KubeObject[]) =>
  rolloutStateOf({
    workload: { controller: statefulSet, replicaSets: [], pods },
    complaints: [],
    statefulSet: 'mcpserver-a',
  });

test('a pod that no node takes is waited for, in words that do not follow the scheduler’s', () => {
  const [first, second] = ['0/3 nodes are available', '0/4 nodes are available'].map((message) => told([pod(message)]));
  assert.deepEqual(first, second);
  assert.deepEqual(
    [first?.state, first?.message],
    ['starting', 'waiting for a pod to be ready: no node takes pod mcpserver-a-0; its events say why'],
  );
});

test('where a StatefulSet makes the pods, status says who tells why none is made, in words that stay the same from its first moment on', () => {
  const creating = { ...pod(''), status: { phase: 'Pending' } };
  const first = rolloutStateOf({
    workload: { controller: undefined, replicaSets: [], pods: [] },
    complaints: [],
    statefulSet: 'mcpserver-a',
  });
  assert.equal(
    first.message,
    'waiting for a pod to be ready; if none is made, the events of StatefulSet mcpserver-a say why',
  );
  assert.deepEqual([told([]), told([creating])], [first, first]);
});
