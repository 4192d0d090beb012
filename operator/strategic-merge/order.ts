import { isRecord } from './directives.ts';

/**
 * A merged list in the order of the Kubernetes API server: what the patch names as the patch orders it, the rest as the
 * original does; of the two, the one that stood first in the original comes first, and what is new before what is left.
 */
export const arranged = (
  merged: readonly unknown[],
  wanted: readonly unknown[],
  original: readonly unknown[],
  key = '',
): readonly unknown[] => {
  const wantedAt = placeIn(wanted, key);
  const originalAt = placeIn(original, key);
  const named = merged.filter((item) => wantedAt(item) >= 0).sort((a, b) => wantedAt(a) - wantedAt(b));
  const rest = merged.filter((item) => wantedAt(item) < 0);
  const result: unknown[] = [];
  let taken = 0;
  for (const item of named) {
    // One that is not in the original stands at -1, before everything.
    while (taken < rest.length && originalAt(rest[taken]) < originalAt(item)) result.push(rest[taken++]);
    result.push(item);
  }
  return [...result, ...rest.slice(taken)];
};

/** Where an item is in a list, by its identity; -1: it is not there. */
const placeIn = (list: readonly unknown[], key: string): ((item: unknown) => number) => {
  const places = firstPlaces(list.map((each) => identity(each, key)));
  return (item) => places.get(identity(item, key)) ?? -1;
};

/** The index at which each value stands first. */
export const firstPlaces = <Value>(values: readonly Value[]): Map<Value, number> => {
  const places = new Map<Value, number>();
  for (const [index, value] of values.entries()) if (!places.has(value)) places.set(value, index);
  return places;
};

const identity = (item: unknown, key: string): unknown => (key !== '' && isRecord(item) ? item[key] : item);
