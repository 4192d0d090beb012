import { isDeepStrictEqual } from 'node:util';
import type { Change } from '../cache/store.ts';
import { METADATA_ONLY } from '../api/selection.ts';
import type { ReconciledKind } from '../kinds/kind.ts';
import { fieldManager, keyOf, keyText } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { Source } from '../read/source.ts';

/**
 * Every key to reconcile because of `change`: the object itself, its owner, and those that a kind calls affected by the
 * object as it was or as it is (a member that moves from one group to another affects both).
 */
export const affectedKeys = (
  kinds: readonly ReconciledKind[],
  source: Source,
  change: Change,
): readonly ObjectKey[] => {
  if (isInsignificant(change)) {
    return [];
  }
  const keys = [change.before, change.after]
    .filter((object) => object !== undefined)
    .flatMap((object) => [
      ...kinds.filter(({ kind }) => kind === object.kind).map(() => keyOf(object)),
      ...ownersOf(kinds, object),
      ...kinds.filter((kind) => isOfInterest(kind, object)).flatMap((kind) => kind.affectedBy(source, object)),
    ]);
  return [...new Map(keys.map((key) => [keyText(key), key])).values()];
};

/** The keys of our own kinds alone: enough while the first lists come in, since then every such object is new. */
export const ownKeys = (kinds: readonly ReconciledKind[], { before, after }: Change): readonly ObjectKey[] =>
  [after ?? before]
    .filter((object) => object !== undefined)
    .filter((object) => kinds.some(({ kind }) => kind === object.kind))
    .map(keyOf);

/** Only bookkeeping of the API server has changed. Where the content is not watched, a new version is a change. */
const isInsignificant = ({ before, after }: Change): boolean =>
  before !== undefined &&
  after !== undefined &&
  !METADATA_ONLY.has(after.kind) &&
  isDeepStrictEqual(withoutBookkeeping(before), withoutBookkeeping(after));

const withoutBookkeeping = (object: KubeObject): unknown => {
  const { resourceVersion: _, managedFields: __, ...metadata } = object.metadata;
  return { ...object, metadata };
};

const isOfInterest = ({ kind, owns, reads }: ReconciledKind, object: KubeObject): boolean =>
  object.kind === kind || reads.includes(object.kind) || owns.includes(object.kind);

/**
 * Keys of owners by owner reference, or by our labels for objects that a controller makes of our children (ReplicaSets,
 * Pods). Labels suffice to trigger a reconcile; `isControlledBy` decides about ownership.
 */
export const ownersOf = (kinds: readonly ReconciledKind[], object: KubeObject): readonly ObjectKey[] => {
  const namespace = object.metadata.namespace ?? '';
  const references = object.metadata.ownerReferences ?? [];
  const owners = references.filter(({ kind }) => kinds.some((reconciled) => reconciled.kind === kind));
  if (owners.length > 0) {
    return owners.map(({ kind, name }) => ({ kind, namespace, name }));
  }
  const labels = object.metadata.labels ?? {};
  const name = labels['app.kubernetes.io/instance'];
  // The container behind a vmcp runtime has a component of its own (docs/decisions.md "Labels of children").
  const component = labels['app.kubernetes.io/component']?.replace(/-backend$/, '');
  const kind = kinds.find((reconciled) => reconciled.kind.toLowerCase() === component);
  const isOurs = labels['app.kubernetes.io/managed-by'] === fieldManager;
  return isOurs && name !== undefined && kind !== undefined ? [{ kind: kind.kind, namespace, name }] : [];
};
