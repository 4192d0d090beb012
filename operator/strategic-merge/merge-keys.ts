/**
 * The lists of a type that are merged, by their path without indexes, with the field that tells their elements apart (`''`: the
 * elements are plain values). Every other list is replaced as a whole, and every map merged key by key.
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

/** core/v1 PodTemplateSpec: `x-kubernetes-patch-merge-key` and `x-kubernetes-patch-strategy` of the OpenAPI that Kubernetes serves. */
export const POD_TEMPLATE_KEYS: MergeKeys = { ...below('metadata', objectMeta), ...below('spec', podSpec) };

/** Undefined: the value there is not merged as a list. */
export const mergeKeyAt = (keys: MergeKeys, path: string): string | undefined =>
  Object.hasOwn(keys, path) ? keys[path] : undefined;
