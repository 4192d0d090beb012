/**
 * The lists of a type that are merged, by their path without indexes, with the field that tells their elements apart
 * (`''`: the elements are plain values). Every other list is replaced as a whole, and every map merged key by key.
 */
export type MergeKeys = Readonly<Record<string, string>>;

/** Fields of one Kubernetes type, placed below another's. */
const below = (path: string, keys: MergeKeys): MergeKeys =>
  Object.fromEntries(Object.entries(keys).map(([field, key]) => [`${path}.${field}`, key]));

const objectMeta: MergeKeys = { finalizers: '', ownerReferences: 'uid' };

const container: MergeKeys = {
  env: 'name',
  ports: 'containerPort',
  volumeDevices: 'devicePath',
  volumeMounts: 'mountPath',
};

const podSpec: MergeKeys = {
  containers: 'name',
  ...below('containers', container),
  ephemeralContainers: 'name',
  ...below('ephemeralContainers', container),
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  ...below('initContainers', container),
  resourceClaims: 'name',
  schedulingGates: 'name',
  topologySpreadConstraints: 'topologyKey',
  volumes: 'name',
  ...below('volumes.ephemeral.volumeClaimTemplate.metadata', objectMeta),
};

/**
 * core/v1 PodTemplateSpec: `x-kubernetes-patch-merge-key` and `x-kubernetes-patch-strategy` of the OpenAPI that
 * Kubernetes serves.
 */
export const POD_TEMPLATE_KEYS: MergeKeys = { ...below('metadata', objectMeta), ...below('spec', podSpec) };

/** A field of a type that is merged as a list, or leads to one. */
export interface TypeNode {
  /** Of the elements of the list; absent: it is no list. */
  readonly key?: string;
  readonly fields: ReadonlyMap<string, TypeNode>;
}

/** The same as a tree, in which a step costs the same however long a user's field names are. */
export const treeOf = (keys: MergeKeys): TypeNode => {
  const root: GrowingNode = { fields: new Map() };
  for (const [path, key] of Object.entries(keys)) {
    let node = root;
    for (const field of path.split('.')) {
      const next: GrowingNode = node.fields.get(field) ?? { fields: new Map() };
      node.fields.set(field, next);
      node = next;
    }
    node.key = key;
  }
  return root;
};

interface GrowingNode {
  key?: string;
  readonly fields: Map<string, GrowingNode>;
}
