import type { KubeObject } from '../object.ts';

/**
 * Whether this owner controls the object. Any user who may create pods or ConfigMaps can write labels and further owner
 * references; an object has one controller, named by its uid, and owners never reach into another namespace.
 */
export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  owner.metadata.uid !== undefined &&
  (object.metadata.namespace ?? '') === (owner.metadata.namespace ?? '') &&
  object.metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === owner.metadata.uid) ===
    true;

/** Whether the object names this owner at all. A reference that another writer has edited otherwise is repaired. */
export const isOwnedBy = (object: KubeObject, owner: KubeObject): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

/** The objects of a kind that this owner controls. */
export type Controlled = (kind: string, owner: KubeObject) => readonly KubeObject[];

/** The pods of a Deployment, through its ReplicaSets. */
export const podsOfDeployment = (deployment: KubeObject, controlled: Controlled): readonly KubeObject[] =>
  controlled('ReplicaSet', deployment).flatMap((replicaSet) => controlled('Pod', replicaSet));
