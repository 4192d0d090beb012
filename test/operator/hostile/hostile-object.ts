import type { KubeObject } from '../../../operator/object.ts';

/** The namespace of the tenant that attacks. */
export const HOSTILE = 'hostile';

/** An object of our API group, in the namespace of the attacker unless `metadata` says otherwise. */
export const hostileObject = (kind: string, name: string, spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name, namespace: HOSTILE, ...metadata },
  spec,
});
