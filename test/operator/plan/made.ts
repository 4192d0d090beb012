import assert from 'node:assert/strict';
import { parseResource } from '../../../crds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';

/** An object of ours in the namespace `default`, as the API server stores it: with the defaults of its schema. */
export const made = (kind: string, name: string, spec: object, metadata: object = {}): KubeObject => {
  const whole = { name, namespace: 'default', ...metadata };
  const parsed = parseResource({ apiVersion: 'vmcp.dev/v1beta1', kind, metadata: whole, spec });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return { ...parsed.value, metadata: { ...parsed.value.metadata, ...metadata } };
};
