/**
 * Does it have more values and characters than so many? Walked no further than it takes to know, and without recursion:
 * what is nested deeply has to pass here as well.
 */
export const isLarge = (value: unknown, most: number): boolean => {
  const open: unknown[] = [value];
  let size = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') size += next.length;
    else if (typeof next === 'object' && next !== null) {
      const entries: Iterable<readonly [unknown, unknown]> = next instanceof Map ? next : Object.entries(next);
      for (const [key, inner] of entries) {
        size += 1;
        if (size > most) return true;
        open.push(key, inner ?? 0);
      }
    }
    if (size > most) return true;
  }
  return false;
};
