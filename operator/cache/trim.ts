import { API_GROUP } from '../../crds/index.ts';
import { METADATA_ONLY } from '../api/selection.ts';
import { type KubeObject, type ManagedFields, fieldManager } from '../object.ts';
import type { PodsOf } from '../plan/workload/running-workload.ts';
import { unreadable, withoutSpec } from '../validate/unreadable.ts';
import { heldMetadata, isOutline, outlineMetadata, outlineOf } from './held-metadata.ts';
import { memoryBytesOf } from './memory-bytes.ts';

/**
 * Keeps of an object what plans and comparisons need: a cache of thousands must stay small. What is trimmed already
 * stays as it is.
 */
export const trim = (object: KubeObject): KubeObject => {
  if (isOutline(object)) return object;
  const { kind, metadata } = object;
  const { managedFields = [] } = metadata;
  if (METADATA_ONLY.has(kind) || kind === METADATA) {
    const changes = lastContentChange(managedFields);
    return {
      ...object,
      metadata: { ...outlineMetadata(metadata), ...(changes.length > 0 && { managedFields: changes }) },
    };
  }
  const entries = NEVER_COMPARED.has(kind) ? [] : managedFields.filter(isOurs).filter(isComparedIn(object));
  return { ...rest(object), metadata: heldMetadata(metadata, entries) };
};

/** As which everything comes whose content was not asked for. */
const METADATA = 'PartialObjectMetadata';

/** Controllers of the cluster make them. */
const NEVER_COMPARED: ReadonlySet<string> = new Set(['Pod', 'ReplicaSet']);

const isOurs = ({ manager, operation }: ManagedFields): boolean => manager === fieldManager && operation === 'Apply';

/** Of our own kinds the operator writes nothing but the status; any user may name a field manager like it. */
const isComparedIn =
  ({ apiVersion }: KubeObject) =>
  ({ subresource }: ManagedFields): boolean =>
    !isOfOurGroup({ apiVersion }) || subresource === 'status';

export const isOfOurGroup = ({ apiVersion }: { readonly apiVersion?: unknown }): boolean =>
  typeof apiVersion === 'string' && apiVersion.startsWith(`${API_GROUP}/`);

/** As who applies them writes them. */
const CONTENT_FIELDS = ['f:data', 'f:binaryData', 'f:stringData'];

/** Of content that is not kept, it says who changed it last, and when. */
const lastContentChange = (entries: readonly ManagedFields[]): readonly ManagedFields[] =>
  entries
    .flatMap(({ fieldsV1 = {}, ...entry }) => {
      const fields = CONTENT_FIELDS.filter((field) => field in fieldsV1);
      return fields.length === 0
        ? []
        : [{ ...entry, fieldsV1: Object.fromEntries(fields.map((field) => [field, {}])) }];
    })
    .reduce<readonly ManagedFields[]>((newest, entry) => {
      const [known] = newest;
      return known === undefined || (entry.time ?? '') > (known.time ?? '') ? [entry] : newest;
    }, []);

const pick = (value: unknown, keys: readonly string[]): Readonly<Record<string, unknown>> => {
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(keys.filter((key) => record[key] !== undefined).map((key) => [key, record[key]]));
};

const rest = (object: KubeObject): KubeObject => {
  const { apiVersion, kind, metadata, spec, status } = object;
  switch (kind) {
    case 'Pod':
      return {
        apiVersion,
        kind,
        metadata,
        spec: { ...pick(spec, ['nodeName']), ...podSpec(spec) },
        status: pick(status, podStatus),
      };
    case 'ReplicaSet': {
      const { template } = (spec ?? {}) as { readonly template?: { readonly spec?: unknown } };
      return {
        apiVersion,
        kind,
        metadata,
        spec: { ...pick(spec, ['replicas']), template: { spec: podSpec(template?.spec) } },
        status: pick(status, ['replicas', 'conditions']),
      };
    }
    default:
      return object;
  }
};

/** Of pods before they run plans ask what they are (`isRuntime`) and what they mount. */
const podSpec = (spec: unknown): PodsOf['spec'] => {
  const { containers, volumes } = (spec ?? {}) as PodsOf['spec'];
  return {
    ...(volumes && { volumes: volumes.filter(({ configMap, projected }) => configMap ?? projected) }),
    containers: (containers ?? []).map(({ name }) => ({ name })),
  };
};

const podStatus = ['phase', 'podIP', 'conditions', 'containerStatuses', 'initContainerStatuses', 'message', 'reason'];

/**
 * Bytes in memory, about, of one object of a kind that is not ours: a Deployment with thousands of mounts takes less.
 */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024;

/**
 * What the cache keeps of an object apart from any budget: trimmed, and without its spec or content where that alone is
 * too large.
 */
export const cacheable = (object: KubeObject): KubeObject => {
  const trimmed = trim(object);
  if (!isOfOurGroup(trimmed)) return memoryBytesOf(trimmed) > MAX_OBJECT_BYTES ? outlineOf(trimmed) : trimmed;
  const why = unreadable(trimmed);
  return why === undefined ? trimmed : withoutSpec(trimmed, why);
};
