import type { KubeObject } from '../object.ts';
import type { RunningWorkload } from '../plan/workload/running-workload.ts';
import { type Controlled, isControlledBy, isOwnedBy, podsOfDeployment } from './controlled.ts';
import type { Source } from './source.ts';

/** Looks a controller of pods up by name, and finds its pods. */
export type ResolveWorkload = (source: Source, owner: KubeObject, name: string) => RunningWorkload;

/** The Deployment of that name, if it is this owner's, with its ReplicaSets and pods. */
export const resolveDeployment: ResolveWorkload = (source, owner, name) => {
  const controller = ownedBy(source, owner, { kind: 'Deployment', name });
  const controlled = controlledIn(source, owner);
  return {
    controller,
    replicaSets: controller === undefined ? [] : controlled('ReplicaSet', controller),
    pods: controller === undefined ? [] : podsOfDeployment(controller, controlled).filter(isStaying),
  };
};

/** The StatefulSet of that name, if it is this owner's, with its pods. */
export const resolveStatefulSet: ResolveWorkload = (source, owner, name) => {
  const controller = ownedBy(source, owner, { kind: 'StatefulSet', name });
  const pods = controller === undefined ? [] : controlledIn(source, owner)('Pod', controller).filter(isStaying);
  return { controller, replicaSets: [], pods };
};

/** An object of a child's name, unless it is somebody else's. */
export const ownedBy = (
  source: Source,
  owner: KubeObject,
  { kind, name }: { readonly kind: string; readonly name: string },
): KubeObject | undefined => {
  const child = source.get(kind, namespaceOf(owner), name);
  return child !== undefined && isControlledBy(child, owner) ? child : undefined;
};

/** An object of a child's name that is somebody else's. None where there is no API server that gave the owner a uid. */
export const strangerAt = (
  source: Source,
  owner: KubeObject,
  { kind, name }: { readonly kind: string; readonly name: string },
): KubeObject | undefined => {
  const found = owner.metadata.uid === undefined ? undefined : source.get(kind, namespaceOf(owner), name);
  return found === undefined || isOwnedBy(found, owner) ? undefined : found;
};

/** Of the owner's namespace. */
export const controlledIn =
  (source: Source, owner: KubeObject): Controlled =>
  (kind, controller) =>
    source.list(kind, namespaceOf(owner)).filter((each) => isControlledBy(each, controller));

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

const isStaying = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;
