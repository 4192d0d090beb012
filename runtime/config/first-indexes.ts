/** For each key the index of its first occurrence, which is its own unless it is a repetition. Linear, whoever decides how many there are. */
export const firstIndexes = (keys: readonly string[]): readonly number[] => {
  const firsts = new Map<string, number>();
  return keys.map((key, index) => {
    const first = firsts.get(key) ?? index;
    firsts.set(key, first);
    return first;
  });
};
