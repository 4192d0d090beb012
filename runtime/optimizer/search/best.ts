/** The first `count` of the items in the order that `isBefore` gives. For few of many: nothing else is sorted. */
export const best = <T>(items: readonly T[], count: number, isBefore: (a: T, b: T) => boolean): readonly T[] => {
  const kept: T[] = [];
  for (const item of items) {
    const last = kept.at(-1);
    if (kept.length >= count && last !== undefined && !isBefore(item, last)) continue;
    let [low, high] = [0, kept.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = kept[middle];
      if (other !== undefined && isBefore(other, item)) low = middle + 1;
      else high = middle;
    }
    kept.splice(low, 0, item);
    if (kept.length > count) kept.pop();
  }
  return kept;
};
