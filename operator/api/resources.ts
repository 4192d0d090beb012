import type { ObjectKey } from '../object.ts';

/** Where the API server keeps the objects of one kind. */
export interface Resource {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
}

/** The namespace of what is at a path; empty for what has none and for what is of all. */
export const namespaceAt = (path: string): string =>
  decodeURIComponent(/\/namespaces\/([^/]+)\//.exec(path)?.[1] ?? '');

/** Kind → resource. Of the cluster's scope are the namespaces, and the configuration of the operator's own webhook. */
export type ResourceTable = ReadonlyMap<string, Resource>;

const builtIn: readonly Resource[] = [
  { kind: 'ConfigMap', apiVersion: 'v1', plural: 'configmaps' },
  // Those of others: a kind of its own, since of its own ones the operator keeps the whole and of these the metadata.
  { kind: 'AnyConfigMap', apiVersion: 'v1', plural: 'configmaps' },
  { kind: 'Pod', apiVersion: 'v1', plural: 'pods' },
  { kind: 'Secret', apiVersion: 'v1', plural: 'secrets' },
  { kind: 'Service', apiVersion: 'v1', plural: 'services' },
  { kind: 'ServiceAccount', apiVersion: 'v1', plural: 'serviceaccounts' },
  { kind: 'Deployment', apiVersion: 'apps/v1', plural: 'deployments' },
  { kind: 'ReplicaSet', apiVersion: 'apps/v1', plural: 'replicasets' },
  { kind: 'StatefulSet', apiVersion: 'apps/v1', plural: 'statefulsets' },
  { kind: 'NetworkPolicy', apiVersion: 'networking.k8s.io/v1', plural: 'networkpolicies' },
  { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', plural: 'leases' },
  { kind: 'Event', apiVersion: 'events.k8s.io/v1', plural: 'events' },
  { kind: 'Role', apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'roles' },
  { kind: 'RoleBinding', apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
  { kind: 'Namespace', apiVersion: 'v1', plural: 'namespaces' },
  {
    kind: 'ValidatingWebhookConfiguration',
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'validatingwebhookconfigurations',
  },
];

/** The built-in kinds this operator touches, and `own` ones beside them. */
export const resourceTable = (own: readonly Resource[]): ResourceTable =>
  new Map([...builtIn, ...own].map((resource) => [resource.kind, resource]));

/** A kind missing from the table is a bug of ours, so it throws. */
export const resourceOf = (table: ResourceTable, kind: string): Resource => {
  const resource = table.get(kind);
  if (resource === undefined) {
    throw new Error(`no resource is known for kind ${kind}`);
  }
  return resource;
};

/** `/api/v1` or `/apis/<group>/<version>`, then the namespace if there is one, then the plural. */
export const collectionPath = (resource: Resource, namespace: string): string => {
  const root = resource.apiVersion.includes('/') ? '/apis/' : '/api/';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${resource.apiVersion}${scope}/${resource.plural}`;
};

export const objectPath = (resource: Resource, key: Omit<ObjectKey, 'kind'>): string =>
  `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`;
