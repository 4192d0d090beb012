import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';

const service = (annotations: Readonly<Record<string, string>>, type: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'it', namespace: 'default', uid: 'u1', annotations },
  spec: { type },
});

test('what the server makes of an object is known until another writer removes, or changes, an annotation that was sent', () => {
  const [sent, mutations] = [service({ size: 'small' }, 'ClusterIP'), new ServerMutations()];
  mutations.record(sent, service({ size: 'small' }, 'LoadBalancer'));
  assert.equal(mutations.isKnown(sent, service({ size: 'small' }, 'LoadBalancer')), true);
  assert.equal(mutations.isKnown(sent, service({ size: 'small', theirs: 'lb-1' }, 'LoadBalancer')), true);
  assert.equal(mutations.isKnown(sent, service({ theirs: 'lb-1' }, 'LoadBalancer')), false);
  assert.equal(mutations.isKnown(sent, service({ size: 'large' }, 'LoadBalancer')), false);
});
