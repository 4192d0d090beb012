import { fieldsOf, type Reference } from '../../crds/index.ts';
import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import {
  type ResolvedReference,
  firstViolationOf,
  lookedUpReferences,
  resolved,
  sourceKind,
} from '../plan/references.ts';
import type { Mac } from '../plan/mac.ts';
import { acceptedIn } from '../plan/server/objects/accepted.ts';
import type { GroupView, ServerBundle, ServerChildren } from '../plan/server/bundle.ts';
import { childName } from '../plan/server/objects/names.ts';
import { mountedConfigMap } from '../plan/server/objects/pod-template.ts';
import { sharedValues } from '../plan/server/status/uniqueness.ts';
import { BackendBudget } from './backend-budget.ts';
import { isControlledBy } from './controlled.ts';
import { ownedBy, resolveDeployment, foreignAt } from './resolve-workload.ts';
import type { Source } from './source.ts';

/**
 * Kinds whose objects join the group they name, in the order that decides when two share a name (docs/decisions.md
 * "Names of tools").
 */
export const MEMBER_KINDS = ['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'] as const;

/** Undefined when the server is gone or going: garbage collection does the rest. */
export const resolveServer = (source: Source, key: ObjectKey, mac?: Mac): ServerBundle | undefined => {
  const bundle = resolveServed(source, key, mac);
  if (bundle === undefined) return undefined;
  const { server, accepted } = bundle;
  const names = [groupNameOf(server), accepted && groupNameOf({ ...server, spec: accepted.written })].filter(
    (name) => name !== undefined,
  );
  const tooManyBackends = budget.exceededBy(source, server, [...new Set(names)]);
  if (tooManyBackends !== undefined) return Object.freeze({ ...bundle, tooManyBackends });
  const groups = new Map(names.map((name) => [name, resolveGroup(source, { ...key, kind: 'MCPGroup', name })]));
  const views = [...groups.values()];
  const memberAuth = authOf(views, source, key.namespace);
  return Object.freeze({ ...bundle, groups, memberAuth, foreignServices: foreignServicesOf(views, source) });
};

const budget = new BackendBudget(MEMBER_KINDS, (object) =>
  object.metadata.deletionTimestamp === undefined ? groupNameOf(object) : undefined,
);

const foreignServicesOf = (groups: readonly GroupView[], source: Source): readonly KubeObject[] =>
  groups
    .flatMap(({ members }) => members)
    .filter(({ kind }) => kind !== 'MCPServerEntry')
    .flatMap((member) => foreignAt(source, member, { kind: 'Service', name: childName(member) }) ?? []);

/** Of any kind that the runtime serves, without the members of groups. Undefined when it is gone or going. */
export const resolveServed = (source: Source, key: ObjectKey, mac?: Mac): ServerBundle | undefined => {
  const server = source.get(key.kind, key.namespace, key.name);
  if (server === undefined || server.metadata.deletionTimestamp !== undefined) return undefined;
  const children = childrenOf(source, server);
  const proven = mac && acceptedIn({ server, ...children }, mac);
  const known = source.accepted?.(key) ?? (source.lastVerified ? source.lastVerified(server, proven) : proven);
  return Object.freeze({
    server,
    references: resolveReferences(source, server),
    groups: new Map(),
    memberAuth: [],
    foreignServices: [],
    accepted: known && { ...known, references: resolveReferences(source, { ...server, spec: known.written }) },
    children,
    shared: sharedValues(server, servedIn(source, key.namespace)),
    reports: source.reports?.(key) ?? new Map(),
  });
};

/** Kinds that may have the vmcp runtime, and clients of their own. */
export const SERVED_KINDS = ['VirtualMCPServer', 'MCPRemoteProxy', 'MCPServer'] as const;

const servedIn = (source: Source, namespace: string): readonly KubeObject[] =>
  SERVED_KINDS.flatMap((kind) => source.list(kind, namespace));

const authOf = (groups: readonly GroupView[], source: Source, namespace: string): readonly ResolvedReference[] => {
  const [kind, path] = ['MCPExternalAuthConfig', 'spec.externalAuthConfigRef'];
  const names = groups.flatMap(({ members }) => members).flatMap((member) => authConfigNameOf(member) ?? []);
  return [...new Set(names)].map((name) => resolvedIn(source, namespace, { kind, path, name }));
};

const authConfigNameOf = (member: KubeObject): string | undefined =>
  fieldsOf(MEMBER_KINDS, member).externalAuthConfigRef?.name;

/**
 * What the object refers to, as it is now. References never leave the namespace (docs/decisions.md "References stay in
 * the namespace").
 */
export const resolveReferences = (source: Source, object: KubeObject): readonly ResolvedReference[] => {
  const { namespace } = keyOf(object);
  return lookedUpReferences(object).map((each) => resolvedIn(source, namespace, each));
};

const resolvedIn = (source: Source, namespace: string, reference: Reference): ResolvedReference => {
  const target = source.get(sourceKind(reference.kind), namespace, reference.name);
  if (target === undefined) return resolved(reference, target, undefined);
  return resolved(
    reference,
    target,
    source.firstViolationOf ? source.firstViolationOf(target) : firstViolationOf(target),
  );
};

/** A group and its members, sorted by name. Members of a group that is missing are found, too. */
export const resolveGroup = (source: Source, key: ObjectKey): GroupView => ({
  group: source.get('MCPGroup', key.namespace, key.name),
  members: MEMBER_KINDS.flatMap((kind) => source.list(kind, key.namespace).filter((each) => isMember(each, key.name)))
    .map(asMember)
    // Stable: under one name the order of the kinds stays.
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0)),
});

/** Without who wrote what of it: there may be thousands. */
const asMember = (object: KubeObject): KubeObject => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};

const isMember = (object: KubeObject, group: string): boolean =>
  groupNameOf(object) === group && object.metadata.deletionTimestamp === undefined;

/** The group an object names, of whatever kind it is. */
export const groupNameOf = (object: KubeObject): string | undefined =>
  fieldsOf([...MEMBER_KINDS, 'VirtualMCPServer'], object).groupRef?.name;

const childrenOf = (source: Source, server: KubeObject): ServerChildren => {
  const name = childName(server);
  const { controller: deployment, replicaSets, pods } = resolveDeployment(source, server, name);
  const service = ownedBy(source, server, { kind: 'Service', name });
  const named = new Set([...(deployment === undefined ? [] : [deployment]), ...replicaSets].map(mountedConfigMap));
  const configMaps = source
    .list('ConfigMap', server.metadata.namespace ?? 'default')
    .filter((each) => isControlledBy(each, server) || named.has(each.metadata.name));
  return { deployment, service, configMaps, replicaSets, pods };
};
