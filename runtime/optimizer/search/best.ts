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

/** The value that has this rank, 1 for the largest one; -Infinity where there are fewer values. */
export const valueOfRank = (values: Float32Array | Float64Array, rank: number): number => {
  // In rising order, so that the value to beat is in front.
  const kept = new Float64Array(rank).fill(-Infinity);
  for (const value of values) {
    if (value <= (kept[0] ?? Infinity)) continue;
    let [low, high] = [1, rank];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((kept[middle] ?? Infinity) < value) low = middle + 1;
      else high = middle;
    }
    kept.copyWithin(0, 1, low);
    kept[low - 1] = value;
  }
  return kept[0] ?? -Infinity;
};
