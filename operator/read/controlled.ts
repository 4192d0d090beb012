import type { KubeObject } from '../object.ts';

/**
 * Was the object made for this owner? Labels and further owner references can be written by anybody who may create pods
 * or ConfigMaps; of controllers there is one, named by its uid, and owners never reach into another namespace.
 */
export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  owner.metadata.uid !== undefined &&
  (object.metadata.namespace ?? '') === (owner.metadata.namespace ?? '') &&
  object.metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === owner.metadata.uid) ===
    true;

/**
 * Does it name this owner at all? Whoever edits the rest of such a reference makes it nobody else's: it is repaired.
 */
export const isOwnedBy = (object: KubeObject, owner: KubeObject): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

/** The objects of a kind that this owner controls. */
export type Controlled = (kind: string, owner: KubeObject) => readonly KubeObject[];

/** The pods of a Deployment, through its ReplicaSets. */
export const podsOfDeployment = (deployment: KubeObject, controlled: Controlled): readonly KubeObject[] =>
  controlled('ReplicaSet', deployment).flatMap((replicaSet) => controlled('Pod', replicaSet));
