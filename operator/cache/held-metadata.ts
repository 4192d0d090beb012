import { type KubeObject, type ManagedFields, type ObjectMeta, type OwnerReference, fieldManager } from '../object.ts';
import { isLarge } from '../threads/size.ts';

/** Labels that the operator looks at, of whatever object. */
const LABELS: ReadonlySet<string> = new Set(
  ['name', 'instance', 'managed-by', 'component'].map((label) => `app.kubernetes.io/${label}`),
);

/** Annotations that it looks at. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'vmcp.dev/config-hash',
  'vmcp.dev/allow-delete',
  'deployment.kubernetes.io/revision',
]);

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Characters and values of labels, annotations and owners that are kept unfiltered. */
const MAX_METADATA_CHARACTERS = 16 * 1024;
/** The same of one annotation that is looked at, or one owner, where there are more. */
const MAX_ENTRY_CHARACTERS = 1_024;
/** Owners, where there is more. */
const MAX_OWNERS = 16;

/**
 * The metadata as the cache holds it: without finalizers, which the operator never reads. Where labels, annotations and
 * owners are large together, only those are kept that the operator wrote or looks at, since the author of an object may
 * write a megabyte of them.
 */
export const heldMetadata = (metadata: ObjectMeta, managedFields: readonly ManagedFields[]): ObjectMeta => {
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations ?? {};
  const { labels = {}, ownerReferences = [] } = metadata;
  const all = { labels, annotations, ownerReferences };
  return {
    ...identity(metadata),
    ...filled(isLarge(all, MAX_METADATA_CHARACTERS) ? needed(all, writtenIn(managedFields)) : all),
    ...(managedFields.length > 0 && { managedFields }),
  };
};

/** The same of an object of which it counts that it is there, and whose. */
export const outlineMetadata = (metadata: ObjectMeta): ObjectMeta => {
  const { labels = {}, ownerReferences = [] } = metadata;
  const { annotations: _, ...kept } = needed({ labels, annotations: {}, ownerReferences }, NOTHING);
  return { ...identity(metadata), ...filled(kept) };
};

interface Described {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerReferences: readonly OwnerReference[];
}

const IDENTITY = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
] as const;

const identity = (metadata: ObjectMeta): ObjectMeta =>
  Object.fromEntries(
    IDENTITY.flatMap((key) => (metadata[key] === undefined ? [] : [[key, metadata[key]]])),
  ) as unknown as ObjectMeta;

/** Empty ones are left out, as the API server does. */
const filled = (described: Partial<Described>): Partial<Described> =>
  Object.fromEntries(Object.entries(described).filter(([, value]) => Object.keys(value).length > 0));

/** What the operator has written of an object: names of labels and annotations, uids of owners. */
interface Written {
  readonly labels: ReadonlySet<string>;
  readonly annotations: ReadonlySet<string>;
  readonly owners: ReadonlySet<string>;
}

const NOTHING: Written = { labels: new Set(), annotations: new Set(), owners: new Set() };

type Tree = Readonly<Record<string, unknown>>;

const writtenIn = (entries: readonly ManagedFields[]): Written => {
  const trees = entries
    .filter(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
    .map(({ fieldsV1 }) => (fieldsV1?.['f:metadata'] ?? {}) as Tree);
  const under = (field: string): readonly string[] => trees.flatMap((tree) => Object.keys((tree[field] ?? {}) as Tree));
  const fieldsOf = (field: string): ReadonlySet<string> => new Set(under(field).map((key) => key.slice('f:'.length)));
  return {
    labels: fieldsOf('f:labels'),
    annotations: fieldsOf('f:annotations'),
    owners: new Set(under('f:ownerReferences').flatMap((key) => /^k:\{"uid":"([^"]*)"\}$/.exec(key)?.[1] ?? [])),
  };
};

const needed = ({ labels, annotations, ownerReferences }: Described, written: Written): Described => {
  const isFirst = ({ controller, uid }: OwnerReference): boolean => controller === true || written.owners.has(uid);
  const owners = ownerReferences.filter((each) => !isLarge(each, MAX_ENTRY_CHARACTERS));
  return {
    labels: chosen(labels, (label) => LABELS.has(label) || written.labels.has(label)),
    annotations: chosen(
      annotations,
      (name, value) => written.annotations.has(name) || (ANNOTATIONS.has(name) && value.length <= MAX_ENTRY_CHARACTERS),
    ),
    ownerReferences: [...owners.filter(isFirst), ...owners.filter((each) => !isFirst(each))].slice(0, MAX_OWNERS),
  };
};

const chosen = (
  all: Readonly<Record<string, string>>,
  isNeeded: (key: string, value: string) => boolean,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(all).filter(([key, value]) => isNeeded(key, value)));

/**
 * An object without its content. ConfigMaps are watched like this: any user may give one the operator's label, and the
 * content of those that no pod of ours mounts is to take no memory. So are objects beyond the budget of their namespace
 * (`MemoryBudget`).
 */
export const outlineOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: outlineMetadata(metadata),
  [MARK]: true,
});

/** Must its content be read first? */
export const isOutline = (object: KubeObject): boolean => object[MARK] === true;

/** No field of any Kubernetes object. */
const MARK = 'isOutline';
