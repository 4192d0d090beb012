/**
 * The shape every Kubernetes object has here: plain JSON as the API server sends it. Nothing is typed away, so a field
 * this program does not know survives a round trip.
 */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFields {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  /** RFC 3339, whole seconds: when this manager last changed a field it owns. */
  readonly time?: string;
  /** The `fieldsV1` tree (`f:name`, `k:{…}`, `v:…`, `.`). */
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/** Names one object; the identity a queue is keyed by. Never an event, never an object. */
export interface ObjectKey {
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** `kind/namespace/name`, the string form of a key. */
export const keyText = (key: ObjectKey): string => `${key.kind}/${key.namespace}/${key.name}`;

export const keyOf = (object: KubeObject): ObjectKey => ({
  kind: object.kind,
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name,
});

/** The field manager everything is applied under; Leases, Events and Secrets are written under it too. */
export const fieldManager = 'vmcp-operator';

/** The key that `keyText` made this of. */
export const keyFromText = (text: string): ObjectKey => {
  const [kind = '', namespace = '', name = ''] = text.split('/');
  return { kind, namespace, name };
};
