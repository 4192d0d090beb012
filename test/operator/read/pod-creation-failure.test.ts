import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { Selection } from '../../../operator/api/selection.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { podCreationFailure } from '../../../operator/read/pod-creation-failure.ts';

const statefulSet: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 's', namespace: 'n', uid: 'u' },
};
const event = (resourceVersion: string, reason: string, deprecatedCount: number): KubeObject => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: resourceVersion, namespace: 'n', resourceVersion },
  reason,
  note: `${reason} ${resourceVersion}`,
  deprecatedCount,
});
const whyWith = (...items: readonly KubeObject[]): Promise<string | undefined> =>
  podCreationFailure(
    statefulSet,
    { list: () => Promise.resolve({ items, resourceVersion: '1' }) },
    new AbortController().signal,
  );

test('why a StatefulSet makes no pod is what its newest event says, once it has failed for a while', async () => {
  assert.equal(await whyWith(), undefined);
  assert.equal(await whyWith(event('9', 'FailedCreate', 9)), undefined);
  assert.equal(await whyWith(event('9', 'FailedCreate', 10)), 'FailedCreate 9');
  assert.equal(await whyWith(event('10', 'FailedCreate', 2), event('9', 'FailedCreate', 8)), 'FailedCreate 10');
});

test('a pod that was made since is the end of it, and its failures before do not count for the next', async () => {
  assert.equal(await whyWith(event('9', 'FailedCreate', 50), event('10', 'SuccessfulCreate', 1)), undefined);
  const again = event('11', 'FailedCreate', 1);
  assert.equal(await whyWith(event('9', 'FailedCreate', 50), again, event('10', 'SuccessfulCreate', 1)), undefined);
});

test('events are asked for by the uid of the StatefulSet, and not without end; without the right to, nothing is reported', async () => {
  const asked: Selection[] = [];
  const list = (selection: Selection): Promise<never> => {
    asked.push(selection);
    return Promise.reject(new ApiError(403, { reason: 'Forbidden' }));
  };
  assert.equal(await podCreationFailure(statefulSet, { list }, new AbortController().signal), undefined);
  const fieldSelector = 'regarding.kind=StatefulSet,regarding.uid=u';
  assert.deepEqual(asked, [{ kind: 'Event', namespace: 'n', fieldSelector, atMost: 500 }]);
});
