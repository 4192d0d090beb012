/**
 * Bytes that V8 takes, about: of an object or a list, of a place in one, of a key that is met for the first time, of a
 * string; both beside their characters.
 */
const CONTAINER = 40;
const PLACE = 8;
const NEW_KEY = 48;
const STRING = 16;

/** Bytes of memory that a JSON value takes, about; walked without recursion. */
export const memoryBytesOf = (value: unknown): number => {
  const open: unknown[] = [value];
  const keys = new Set<string>();
  let weight = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') weight += STRING + bytesOf(next);
    if (typeof next !== 'object' || next === null) continue;
    weight += CONTAINER;
    if (Array.isArray(next)) {
      weight += next.length * PLACE;
      for (const inner of next) open.push(inner);
      continue;
    }
    for (const key in next) {
      weight += keys.has(key) ? PLACE : NEW_KEY + key.length;
      keys.add(key);
      open.push((next as Readonly<Record<string, unknown>>)[key]);
    }
  }
  return weight;
};

/** One character beyond Latin-1, and each takes two bytes. */
const bytesOf = (text: string): number => (/[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length);
