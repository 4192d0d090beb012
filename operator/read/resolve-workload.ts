import type { KubeObject } from '../object.ts';
import { type RunningWorkload, wantsNoPods } from '../plan/workload/running-workload.ts';
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

/** The object under a child's name, if this owner controls it. */
export const ownedBy = (
  source: Source,
  owner: KubeObject,
  { kind, name }: { readonly kind: string; readonly name: string },
): KubeObject | undefined => {
  const child = source.get(kind, namespaceOf(owner), name);
  return child !== undefined && isControlledBy(child, owner) ? child : undefined;
};

/** A foreign object under a child's name. Undefined where no API server gave the owner a uid. */
export const foreignAt = (
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

/**
 * The workload with the reason why its pods are not created, where a StatefulSet has fewer pods than it should have;
 * `podCreationFailure` asks the API server for that reason.
 */
export const withPodCreationFailure = async (
  workload: RunningWorkload,
  podCreationFailure: (statefulSet: KubeObject) => Promise<string | undefined>,
): Promise<RunningWorkload> => {
  const { controller, pods } = workload;
  if (controller?.kind !== 'StatefulSet' || wantsNoPods(undefined, controller)) return workload;
  const { replicas = 1 } = (controller['spec'] ?? {}) as { readonly replicas?: number };
  if (pods.length >= replicas) return workload;
  const reason = await podCreationFailure(controller);
  return reason === undefined ? workload : { ...workload, podCreationFailure: reason };
};
