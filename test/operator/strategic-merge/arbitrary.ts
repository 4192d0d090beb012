import * as fc from 'fast-check';
import type { MergeKeys } from '../../../operator/strategic-merge/index.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Patches that touch what a template has: any part left, nulled, set anew, replaced, reordered, deleted or added to.
 */
export const patchesOf = (template: Json, keys: MergeKeys): fc.Arbitrary<Json> => recordPatch(template, keys, '');

const recordPatch = (original: Json, keys: MergeKeys, path: string): fc.Arbitrary<Json> =>
  fc.record(
    Object.fromEntries(
      Object.entries(original).map(([field, value]) => [
        field,
        fieldPatch(value, keys, path === '' ? field : `${path}.${field}`),
      ]),
    ),
    { requiredKeys: [] },
  );

const fieldPatch = (value: unknown, keys: MergeKeys, path: string): fc.Arbitrary<unknown> => {
  const gone = { arbitrary: fc.constant(null), weight: 1 };
  if (Array.isArray(value)) return fc.oneof(gone, { arbitrary: listPatch(value, keys, path), weight: 6 });
  if (typeof value !== 'object' || value === null) return fc.oneof(gone, { arbitrary: anotherOf(value), weight: 4 });
  const inner = recordPatch(value as Json, keys, path);
  const replaced = inner.map((patch) => ({ ...patch, $patch: 'replace' }));
  return fc.oneof(gone, { arbitrary: replaced, weight: 1 }, { arbitrary: inner, weight: 8 });
};

const anotherOf = (value: unknown): fc.Arbitrary<unknown> => {
  if (typeof value === 'number') return fc.nat();
  return typeof value === 'boolean' ? fc.boolean() : fc.constantFrom('x', 'y', 'z');
};

const listPatch = (list: readonly unknown[], keys: MergeKeys, path: string): fc.Arbitrary<readonly unknown[]> => {
  const key = keys[path];
  if (key === undefined || key === '') return fc.shuffledSubarray([...list]);
  const items = list as readonly Json[];
  const changed = items.map((item) =>
    fc.oneof(
      { arbitrary: fc.constant({ [key]: item[key], $patch: 'delete' }), weight: 1 },
      { arbitrary: recordPatch(item, keys, path).map((patch) => ({ ...patch, [key]: item[key] })), weight: 4 },
    ),
  );
  const added = fc.constant({ [key]: typeof items[0]?.[key] === 'number' ? 9 : 'added', note: 'new' });
  const replacing = fc.constant({ $patch: 'replace' });
  return fc
    .tuple(...changed, added, replacing)
    .chain((all) => fc.shuffledSubarray(all, { maxLength: changed.length + 1 }));
};
