import * as z from 'zod';
import { hasItsType } from './rules.ts';

/**
 * A list whose items are told apart by one required key: duplicates are refused, here with the position of the second,
 * in the cluster by the API server (`listType: map`).
 */
export function keyedList<S extends z.ZodObject>(item: S, key: string) {
  return z
    .array(item)
    .superRefine(
      (items, context) => {
        const first = new Map<unknown, number>();
        for (const [index, each] of items.entries()) {
          const value = isRecord(each) ? each[key] : undefined;
          if (value === undefined) continue;
          const earlier = first.get(value);
          if (earlier === undefined) first.set(value, index);
          else context.addIssue(duplicate({ key, value, earlier, index }));
        }
      },
      { when: hasItsType },
    )
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

function duplicate({ key, value, earlier, index }: { key: string; value: unknown; earlier: number; index: number }) {
  const reason = `${key} ${JSON.stringify(value)} is already used by item ${earlier}`;
  const remedy = `give each item its own ${key}`;
  return { code: 'custom' as const, path: [index, key], message: `${reason}; ${remedy}`, params: { reason, remedy } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
