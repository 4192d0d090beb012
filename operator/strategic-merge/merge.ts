import { type Change, type Json, PATCH, RETAIN_KEYS, changesOf, isRecord, plain, plainFields } from './directives.ts';
import { type MergeKeys, mergeKeyAt } from './merge-keys.ts';
import { arranged } from './order.ts';

/**
 * The original with the patch over it, as `kubectl patch --type=strategic` does it. Never throws: what `patchProblems` finds
 * fault with is left out. Unlike kubectl it leaves neither nulls nor directives in what the patch adds.
 */
export const strategicMerge = (original: Json, patch: Json, keys: MergeKeys, path = ''): Json => {
  if (patch[PATCH] === 'replace') return plainFields(patch);
  if (patch[PATCH] === 'delete') return {};
  const merged = new Map(Object.entries(retained(original, patch[RETAIN_KEYS])));
  for (const [field, change] of changesOf(patch)) {
    const value = mergeField(merged.get(field), change, { keys, path: path === '' ? field : `${path}.${field}` });
    if (value === undefined) merged.delete(field);
    else merged.set(field, value);
  }
  return Object.fromEntries(merged);
};

/** Where in the type a value is, without indexes. */
interface Place {
  readonly keys: MergeKeys;
  readonly path: string;
}

const retained = (original: Json, fields: unknown): Json =>
  Array.isArray(fields)
    ? Object.fromEntries(Object.entries(original).filter(([field]) => fields.includes(field)))
    : original;

const mergeField = (original: unknown, { value, order, remove = [] }: Change, place: Place): unknown => {
  const left = Array.isArray(original) ? original.filter((item) => !remove.includes(item)) : original;
  const merged = value === undefined ? left : mergeValue(left, value, place);
  return order === undefined || !Array.isArray(merged)
    ? merged
    : arranged(merged, order, Array.isArray(left) ? left : [], mergeKeyAt(place.keys, place.path));
};

const mergeValue = (original: unknown, patch: unknown, place: Place): unknown => {
  if (isRecord(original) && isRecord(patch)) return strategicMerge(original, patch, place.keys, place.path);
  if (Array.isArray(original) && Array.isArray(patch)) return mergeList(original, patch, place);
  return plain(patch);
};

const mergeList = (original: readonly unknown[], patch: readonly unknown[], place: Place): unknown => {
  const key = mergeKeyAt(place.keys, place.path);
  if (key === undefined) return plain(patch);
  if (key === '') return arranged([...new Set([...original, ...patch])], patch, original);
  return mergeKeyed(original, patch.filter(isRecord), { ...place, key });
};

const mergeKeyed = (
  original: readonly unknown[],
  patch: readonly Json[],
  { key, ...place }: Place & { readonly key: string },
): readonly unknown[] => {
  const changes = patch.filter((item) => !Object.hasOwn(item, PATCH));
  // One such element speaks for the whole list.
  if (patch.some((item) => item[PATCH] === 'replace')) return changes.map(plain);
  const deleted = patch.filter((item) => item[PATCH] === 'delete').map((item) => item[key]);
  const left = original.filter(isRecord).filter((item) => !deleted.includes(item[key]));
  const merged: Json[] = [...left];
  for (const change of changes) {
    const at = merged.findIndex((item) => item[key] === change[key]);
    const counterpart = merged[at];
    if (counterpart === undefined) merged.push(plainFields(change));
    else merged[at] = strategicMerge(counterpart, change, place.keys, place.path);
  }
  return arranged(merged, changes, left, key);
};
