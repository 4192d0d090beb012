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
  const placeIn = (list: readonly unknown[], item: unknown): number =>
    list.findIndex((each) => identity(each, key) === identity(item, key));
  const named = merged
    .filter((item) => placeIn(wanted, item) >= 0)
    .sort((a, b) => placeIn(wanted, a) - placeIn(wanted, b));
  const rest = merged.filter((item) => placeIn(wanted, item) < 0);
  const result: unknown[] = [];
  for (const item of named) {
    // One that is not in the original stands at -1, before everything.
    while (rest.length > 0 && placeIn(original, rest[0]) < placeIn(original, item)) result.push(rest.shift());
    result.push(item);
  }
  return [...result, ...rest];
};

const identity = (item: unknown, key: string): unknown => (key !== '' && isRecord(item) ? item[key] : item);
