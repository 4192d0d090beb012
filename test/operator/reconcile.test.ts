import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../operator/api/errors.ts';
import type { ReconciledKind } from '../../operator/kinds/kind.ts';
import type { KubeObject } from '../../operator/object.ts';
import { objectsSource } from '../../operator/read/source.ts';
import type { ReconcileContext } from '../../operator/reconcile-context.ts';
import { reconcile } from '../../operator/reconcile.ts';
import { reconcileContextOf } from './reconcile-context-of.ts';

const owner: KubeObject = {
  apiVersion: 'v1',
  kind: 'Owner',
  metadata: { name: 'o', namespace: 'n', uid: 'u' },
  spec: {},
};
const child = (kind: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name: 'x',
    namespace: 'n',
    uid: kind,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u', controller: true }],
  },
  ...(kind === 'RoleBinding' && { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' } }),
});

const OWNS = ['Role', 'RoleBinding', 'Service', 'Deployment', 'StatefulSet'];

/** What is removed of `present` where `planned` is to be there and the API server refuses one kind of it. */
const removed = async (present: readonly string[], planned: readonly string[], refused: string) => {
  const gone: string[] = [];
  const kind: ReconciledKind = {
    kind: 'Owner',
    owns: OWNS,
    reads: [],
    resolve: () => ({}),
    plan: () => ({ objects: planned.map(child), events: [] }),
    affectedBy: () => [],
  };
  const held = present.map(child);
  const context = reconcileContextOf({
    source: objectsSource([]),
    podsOf: () => [],
    forget: () => {},
    cache: {
      get: ({ kind: wanted }) => (wanted === 'Owner' ? owner : held.find((each) => each.kind === wanted)),
      put: () => {},
      controlledBy: (wanted) => held.filter((each) => each.kind === wanted),
    },
    api: {
      get: () => Promise.resolve(undefined),
      apply: (object) =>
        object.kind === refused ? Promise.reject(new ApiError(422, { message: 'no' })) : Promise.resolve(object),
      remove: (key) => Promise.resolve(void gone.push(key.kind)),
    },
  });
  await reconcile(kind, { kind: 'Owner', namespace: 'n', name: 'o' }, context, {
    signal: new AbortController().signal,
  });
  return gone;
};

test('what runs pods stays until what takes its place is there', async () => {
  assert.deepEqual(await removed(['Deployment'], ['Role', 'StatefulSet'], 'StatefulSet'), []);
  assert.deepEqual(await removed(['Deployment'], ['Role', 'StatefulSet'], 'Role'), []);
  assert.deepEqual(await removed(['Deployment'], ['Role', 'StatefulSet'], 'nothing'), ['Deployment']);
});

test('what pods may still name stays with them; the rest goes although something is refused', async () => {
  assert.deepEqual(await removed(['Service', 'Deployment'], ['StatefulSet'], 'StatefulSet'), []);
  assert.deepEqual(await removed(['RoleBinding', 'StatefulSet'], ['Deployment'], 'Deployment'), []);
  assert.deepEqual(await removed(['Role'], ['Service'], 'Service'), ['Role']);
});

test('a binding to a Role that is not as planned goes at once', async () => {
  assert.deepEqual(await removed(['RoleBinding', 'Service'], ['Role', 'RoleBinding', 'Service'], 'Role'), [
    'RoleBinding',
  ]);
});

test('a binding whose Role is as planned stays when it is refused itself: bridges attach by it', async () => {
  assert.deepEqual(await removed(['RoleBinding', 'Service'], ['Role', 'RoleBinding', 'Service'], 'RoleBinding'), []);
});

test('a child that cannot be removed keeps neither the removal of others nor the status, and is tried again', async () => {
  const fault = new ApiError(500, { reason: 'InternalError', message: 'failed calling webhook "w"' });
  const gone: string[] = [];
  const told: unknown[] = [];
  const held = [child('Role'), child('Service')];
  const context = reconcileContextOf({
    source: objectsSource([]),
    podsOf: () => [],
    forget: () => {},
    record: () => Promise.resolve(),
    cache: {
      get: ({ kind }) => (kind === 'Owner' ? owner : undefined),
      put: () => {},
      controlledBy: (wanted) => held.filter((each) => each.kind === wanted),
    },
    api: {
      remove: ({ kind }) => (kind === 'Role' ? Promise.reject(fault) : Promise.resolve(void gone.push(kind))),
      applyStatus: (object) => Promise.resolve((told.push(object['status']), object)),
    },
  });
  const kind: ReconciledKind = {
    kind: 'Owner',
    owns: OWNS,
    reads: [],
    resolve: () => ({}),
    plan: () => ({ objects: [], status: { phase: 'Ready', conditions: [] }, events: [] }),
    affectedBy: () => [],
  };
  const work = reconcile(kind, { kind: 'Owner', namespace: 'n', name: 'o' }, context, {
    signal: new AbortController().signal,
  });
  await assert.rejects(work, fault);
  assert.deepEqual([gone, told.length], [['Service'], 1]);
});

test('a reconcile ends with its signal, whatever it waits for', async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const kind: ReconciledKind = {
    kind: 'Owner',
    owns: [],
    reads: [],
    resolve: () => ({}),
    plan: () => ({ events: [] }),
    affectedBy: () => [],
  };
  const cache = { get: () => owner };
  const source = objectsSource([]);
  const over = new AbortController();
  const withdrawn: (AbortSignal | undefined)[] = [];
  const plan: ReconcileContext['plan'] = (_kind, _owner, _bundle, signal) => {
    withdrawn.push(signal);
    return never();
  };
  const contexts = [
    reconcileContextOf({ source: { ...source, settled: never }, cache }),
    reconcileContextOf({ source, cache, plan }),
  ];
  const key = { kind: 'Owner', namespace: 'n', name: 'o' };
  const ended = contexts.map((context) => assert.rejects(reconcile(kind, key, context, over), /leadership ended/));
  await new Promise((resolve) => setImmediate(resolve));
  over.abort(new Error('leadership ended'));
  await Promise.all(ended);
  assert.deepEqual(withdrawn, [over.signal]);
});
