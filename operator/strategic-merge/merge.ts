import { type Change, type Json, PATCH, RETAIN_KEYS, changesOf, isRecord, plain, plainFields } from './directives.ts';
import { type MergeKeys, type TypeNode, treeOf } from './merge-keys.ts';
import { arranged, firstPlaces } from './order.ts';

/**
 * The original with the patch over it, as `kubectl patch --type=strategic` does it. Never throws: what `patchProblems`
 * finds fault with is left out. Unlike kubectl it leaves neither nulls nor directives in what the patch adds.
 */
export const strategicMerge = (original: Json, patch: Json, keys: MergeKeys): Json =>
  mergeMap(original, patch, treeOf(keys));

/** Where in the type a value is; undefined: where nothing is merged as a list. */
type Place = TypeNode | undefined;

const mergeMap = (original: Json, patch: Json, place: Place): Json => {
  if (patch[PATCH] === 'replace') return plainFields(patch);
  if (patch[PATCH] === 'delete') return {};
  const merged = new Map(Object.entries(retained(original, patch[RETAIN_KEYS])));
  for (const [field, change] of changesOf(patch)) {
    const value = mergeField(merged.get(field), change, place?.fields.get(field));
    if (value === undefined) merged.delete(field);
    else merged.set(field, value);
  }
  return Object.fromEntries(merged);
};

const retained = (original: Json, fields: unknown): Json => {
  if (!Array.isArray(fields)) return original;
  const kept = new Set<unknown>(fields);
  return Object.fromEntries(Object.entries(original).filter(([field]) => kept.has(field)));
};

const mergeField = (original: unknown, { value, order, remove }: Change, place: Place): unknown => {
  const left = Array.isArray(original) ? without(original, remove) : original;
  const merged = value === undefined ? left : mergeValue(left, value, place);
  return order === undefined || !Array.isArray(merged)
    ? merged
    : arranged(merged, order, Array.isArray(left) ? left : [], place?.key);
};

const without = (list: readonly unknown[], removed: readonly unknown[] = []): readonly unknown[] => {
  const gone = new Set(removed);
  return list.filter((item) => !gone.has(item));
};

const mergeValue = (original: unknown, patch: unknown, place: Place): unknown => {
  if (isRecord(original) && isRecord(patch)) return mergeMap(original, patch, place);
  if (Array.isArray(original) && Array.isArray(patch)) return mergeList(original, patch, place);
  return plain(patch);
};

const mergeList = (original: readonly unknown[], patch: readonly unknown[], place: Place): unknown => {
  if (place?.key === undefined) return plain(patch);
  if (place.key === '') return arranged([...new Set([...original, ...patch])], patch, original);
  return mergeKeyed(original, patch.filter(isRecord), place, place.key);
};

const mergeKeyed = (
  original: readonly unknown[],
  patch: readonly Json[],
  place: TypeNode,
  key: string,
): readonly unknown[] => {
  const changes = patch.filter((item) => !Object.hasOwn(item, PATCH));
  // One such element speaks for the whole list.
  if (patch.some((item) => item[PATCH] === 'replace')) return changes.map(plain);
  const deleted = new Set(patch.filter((item) => item[PATCH] === 'delete').map((item) => item[key]));
  const left = original.filter(isRecord).filter((item) => !deleted.has(item[key]));
  const merged: Json[] = [...left];
  const places = firstPlaces(left.map((item) => item[key]));
  for (const change of changes) {
    const at = places.get(change[key]);
    const counterpart = at === undefined ? undefined : merged[at];
    if (at === undefined || counterpart === undefined) {
      const added = plainFields(change);
      if (!places.has(added[key])) places.set(added[key], merged.length);
      merged.push(added);
    } else merged[at] = mergeMap(counterpart, change, place);
  }
  return arranged(merged, changes, left, key);
};
