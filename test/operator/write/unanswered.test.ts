import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, UnansweredError } from '../../../operator/api/errors.ts';
import { type KubeObject, fieldManager, keyOf } from '../../../operator/object.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { type Reconciled, reconcile } from '../../../operator/reconcile.ts';
import { ApplyBackoff } from '../../../operator/write/apply-backoff.ts';
import { reconcileContextOf } from '../reconcile-context-of.ts';

const owner: KubeObject = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'o', namespace: 'n', uid: 'u' } };
const child: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'n' } };

describe('a child that was not answered', () => {
  const signal = new AbortController().signal;
  const named = { kind: 'Owner', namespace: 'n', name: 'o' };
  const key = keyOf(child);
  const uid = owner.metadata.uid ?? '';
  const controlled = (object: KubeObject, resourceVersion: string): KubeObject => ({
    ...object,
    metadata: {
      ...object.metadata,
      uid: 'c',
      resourceVersion,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid, controller: true }],
    },
  });

  interface Cluster {
    nowMs: number;
    /** What comes of an apply. */
    onApply: (object: KubeObject) => KubeObject | Error;
    /** The child as the cluster has it. */
    live: KubeObject | undefined;
    planned: KubeObject;
    readonly applyBackoff: ApplyBackoff;
    readonly reconcile: () => Promise<Reconciled>;
  }

  /** Its one child was sent and not answered; since then ten minutes have passed. */
  const afterTenMinutes = async (): Promise<Cluster> => {
    const applyBackoff = new ApplyBackoff(() => cluster.nowMs);
    const context = reconcileContextOf({
      applyBackoff,
      source: objectsSource([]),
      podsOf: () => [],
      forget: () => {},
      record: () => Promise.resolve(),
      cache: {
        get: ({ kind }) => (kind === 'Owner' ? owner : cluster.live),
        put: () => {},
        fill: () => {},
        controlledBy: () => [],
      },
      api: {
        get: () => Promise.resolve(cluster.live),
        apply: (object) => {
          const answer = cluster.onApply(object);
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
        applyStatus: (object) => Promise.resolve(object),
      },
    });
    const kind = {
      kind: 'Owner',
      owns: [],
      reads: [],
      resolve: () => ({}),
      plan: () => ({ objects: [cluster.planned], status: { phase: 'Ready', conditions: [] }, events: [] }),
      affectedBy: () => [],
    };
    const cluster: Cluster = {
      nowMs: 0,
      onApply: () => new UnansweredError('no answer'),
      live: undefined,
      planned: child,
      applyBackoff,
      reconcile: () => reconcile(kind, named, context, { signal }),
    };
    assert.deepEqual(await cluster.reconcile(), { isRefused: true, requeueAfterMs: 600_000 });
    cluster.nowMs += 600_001;
    return cluster;
  };

  test('and is taken when it is sent again causes no further look', async () => {
    const cluster = await afterTenMinutes();
    cluster.onApply = (object) => controlled(object, '1');
    assert.deepEqual(await cluster.reconcile(), { isRefused: false });
    assert.equal(cluster.applyBackoff.requeueAfterMs(uid, [key]), undefined);
  });

  test('and is there as planned all the same causes no further look', async () => {
    const cluster = await afterTenMinutes();
    const managedFields = [
      { manager: fieldManager, operation: 'Apply' as const, fieldsV1: { 'f:data': { 'f:a': {} } } },
    ];
    const data = { a: 'b' };
    const live = controlled({ ...child, data }, '1');
    cluster.planned = { ...child, data };
    cluster.live = { ...live, metadata: { ...live.metadata, managedFields } };
    cluster.onApply = () => assert.fail('it is as planned');
    assert.deepEqual(await cluster.reconcile(), { isRefused: false });
    assert.equal(cluster.applyBackoff.requeueAfterMs(uid, [key]), undefined);
  });

  test('and is refused since it has changed is looked at no sooner than any other that is refused', async () => {
    const cluster = await afterTenMinutes();
    cluster.planned = { ...child, data: { a: 'b' } };
    cluster.onApply = () => new ApiError(422, { reason: 'Invalid', message: 'it is invalid' });
    const { requeueAfterMs } = await cluster.reconcile();
    assert.ok(requeueAfterMs !== undefined && requeueAfterMs > 0, 'it does not come again at once');
    assert.equal(cluster.applyBackoff.requeueAfterMs(uid, [key]), undefined);
  });

  test('and has become another’s meanwhile is not waited for', async () => {
    const cluster = await afterTenMinutes();
    cluster.live = { ...child, metadata: { ...child.metadata, resourceVersion: '5' } };
    const { requeueAfterMs } = await cluster.reconcile();
    assert.ok(requeueAfterMs !== undefined && requeueAfterMs > 0, 'it does not come again at once');
  });
});
