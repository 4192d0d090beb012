import { references } from '../crds/index.ts';
import type { Reference } from '../crds/index.ts';
import type { KubeObject, ObjectKey } from './object.ts';
import { type Accepted, acceptedIn } from './plan/server/accepted.ts';
import { childName, labelsOf } from './plan/server/names.ts';
import { serverSpec } from './plan/server/spec.ts';
import type { PodReports, Source } from './read/source.ts';

/** Kinds whose objects join the group they name, in the order that decides when two share a name (decisions "Names"). */
export const MEMBER_KINDS = ['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'] as const;

/** Everything that decides what the world of one VirtualMCPServer should be. */
export interface ServerBundle {
  readonly server: KubeObject;
  /** The groups that the newest and the accepted spec name, by name. */
  readonly groups: ReadonlyMap<string, GroupView>;
  readonly accepted: Accepted | undefined;
  readonly children: ServerChildren;
  readonly reports: PodReports;
}

/** A group as it is now; `group` is undefined when nobody made it. */
export interface GroupView {
  readonly group: KubeObject | undefined;
  /** In name order; under one name in the order of `MEMBER_KINDS`. */
  readonly members: readonly KubeObject[];
}

/** What exists of a server in the cluster. */
export interface ServerChildren {
  readonly deployment: KubeObject | undefined;
  readonly service: KubeObject | undefined;
  readonly configMaps: readonly KubeObject[];
  readonly replicaSets: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
}

/** Undefined when the server is gone or going: garbage collection does the rest. */
export const resolveServer = (source: Source, key: ObjectKey): ServerBundle | undefined => {
  const server = source.get('VirtualMCPServer', key.namespace, key.name);
  if (server === undefined || server.metadata.deletionTimestamp !== undefined) return undefined;
  const children = childrenOf(source, server);
  const accepted = source.accepted?.(key) ?? acceptedIn(children.configMaps, children.deployment);
  const names = [serverSpec(server).groupRef.name, accepted?.spec.groupRef.name].filter((name) => name !== undefined);
  const groups = new Map(names.map((name) => [name, resolveGroup(source, { ...key, kind: 'MCPGroup', name })]));
  return Object.freeze({ server, groups, accepted, children, reports: source.reports?.(key) ?? new Map() });
};

export const resolveGroup = (source: Source, key: ObjectKey): GroupView => ({
  group: source.get('MCPGroup', key.namespace, key.name),
  members: MEMBER_KINDS.flatMap((kind) => source.list(kind, key.namespace).filter((each) => isMember(each, key.name)))
    // Stable: under one name the order of the kinds stays.
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0)),
});

const isMember = (object: KubeObject, group: string): boolean =>
  groupNameOf(object) === group && object.metadata.deletionTimestamp === undefined;

/** The group an object names, of whatever kind it is. */
export const groupNameOf = (object: KubeObject): string | undefined =>
  (object['spec'] as { readonly groupRef?: { readonly name?: string } } | undefined)?.groupRef?.name;

/** Whether `object` names `target` anywhere its schema says so, in its own namespace (spec: conventions). */
export const refersTo = (object: KubeObject, target: KubeObject): boolean =>
  (object.metadata.namespace ?? '') === (target.metadata.namespace ?? '') &&
  referencesOf(object).some(({ kind, name }) => kind === target.kind && name === target.metadata.name);

/** Objects never change in place, and every change in a namespace asks all of them: one walk of the schema for each must do. */
const referencesOf = (object: KubeObject): readonly Reference[] => {
  const known = walked.get(object) ?? references(object.kind, object);
  walked.set(object, known);
  return known;
};

const walked = new WeakMap<KubeObject, readonly Reference[]>();

const childrenOf = (source: Source, server: KubeObject): ServerChildren => {
  const namespace = server.metadata.namespace ?? 'default';
  const owned = (kind: string): KubeObject | undefined => {
    const child = source.get(kind, namespace, childName(server));
    return isOwned(child, server) ? child : undefined;
  };
  const deployment = owned('Deployment');
  return {
    deployment,
    service: owned('Service'),
    configMaps: source.list('ConfigMap', namespace).filter((each) => isOwned(each, server)),
    replicaSets: source.list('ReplicaSet', namespace).filter((each) => isOwned(each, deployment)),
    pods: source.list('Pod', namespace).filter((pod) => isPodOf(pod, server)),
  };
};

const isOwned = (child: KubeObject | undefined, owner: KubeObject | undefined): boolean =>
  owner?.metadata.uid !== undefined &&
  child?.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

const isPodOf = (pod: KubeObject, server: KubeObject): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  Object.entries(labelsOf(server)).every(([label, value]) => pod.metadata.labels?.[label] === value);
