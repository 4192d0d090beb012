/**
 * For each key the index of its first occurrence, which is its own index unless the key is repeated. Takes linear time.
 */
export const firstIndexes = (keys: readonly string[]): readonly number[] => {
  const firsts = new Map<string, number>();
  return keys.map((key, index) => {
    const first = firsts.get(key) ?? index;
    firsts.set(key, first);
    return first;
  });
};
