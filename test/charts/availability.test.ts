import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { one, render, renderJson, type Rendered } from './rendered.ts';

const OWN = { 'app.kubernetes.io/name': 'vmcp-operator', 'app.kubernetes.io/instance': 'vmcp-operator' };

const podOf = (objects: readonly Rendered[]) => one(objects, 'Deployment').spec?.template;

describe('the operator of the chart', () => {
  test('is not kept from a node that is drained, and loses one replica at a time', async () => {
    const { spec } = one(await render('replicas=3'), 'PodDisruptionBudget') as { readonly spec?: object };
    assert.deepEqual(spec, {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: OWN },
    });
  });

  test('is spread over nodes by its own labels', async () => {
    assert.deepEqual(podOf(await render())?.spec.topologySpreadConstraints, [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: OWN },
      },
    ]);
  });

  test('is spread by other labels when the constraint names them', async () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { team: 'a' } },
    };
    const objects = await renderJson(`topologySpreadConstraints=${JSON.stringify([constraint])}`);
    assert.deepEqual(podOf(objects)?.spec.topologySpreadConstraints, [constraint]);
  });

  test('keeps the labels by which its Deployment finds it, whatever labels are added', async () => {
    const labels = { 'app.kubernetes.io/name': 'mine', team: 'platform' };
    const pod = podOf(await renderJson(`podLabels=${JSON.stringify(labels)}`));
    assert.equal(pod?.metadata.labels?.['app.kubernetes.io/name'], 'vmcp-operator');
    assert.equal(pod?.metadata.labels?.['team'], 'platform');
  });
});
