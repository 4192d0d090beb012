import type { AdmissionContext } from '../../../operator/admission/context.ts';
import type { Review } from '../../../operator/admission/review.ts';
import { referrers } from '../../../operator/kinds/referrers.ts';
import { type KubeObject, type ObjectKey, type ObjectMeta, keyOf, keyText } from '../../../operator/object.ts';
import { validateHere } from '../../../operator/offload/validate.ts';
import { objectsSource } from '../../../operator/read/source.ts';

export const namespace = (metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'default', ...metadata },
});

export const object = (kind: string, name: string, spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name, namespace: 'default', uid: `${kind}-${name}`, ...metadata },
  spec,
});

export interface ClusterUnderTest extends AdmissionContext {
  /** What was asked for live, as text. */
  readonly asked: readonly string[];
  /** The same of what only the metadata was asked for of. */
  readonly askedMetadata: readonly string[];
}

/** What is stored, and what the watches know of it (default: the same). */
export const clusterOf = (stored: readonly KubeObject[], known: readonly KubeObject[] = stored): ClusterUnderTest => {
  const asked: string[] = [];
  const askedMetadata: string[] = [];
  const all = new Map([namespace(), ...stored].map((each) => [keyText(keyOf(each)), each]));
  const get = (key: ObjectKey): Promise<KubeObject | undefined> => {
    asked.push(keyText(key));
    return Promise.resolve(all.get(keyText(key)));
  };
  const getMetadata = (key: ObjectKey): Promise<ObjectMeta | undefined> => {
    askedMetadata.push(keyText(key));
    return Promise.resolve(all.get(keyText(key))?.metadata);
  };
  const source = objectsSource(known);
  return { source, referrersOf: referrers(), validate: validateHere, get, getMetadata, asked, askedMetadata };
};

export const creating = (created: KubeObject): Review => ({ uid: '1', operation: 'CREATE', object: created });

export const updating = (oldObject: KubeObject, updated: KubeObject): Review => ({
  uid: '1',
  operation: 'UPDATE',
  object: updated,
  oldObject,
});

export const deleting = (oldObject: KubeObject): Review => ({ uid: '1', operation: 'DELETE', oldObject });
