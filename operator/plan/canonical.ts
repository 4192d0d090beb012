import { createHash } from 'node:crypto';

/** JSON with the keys of every object in code-point order: equal values give equal text. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sortedKeys);

const sortedKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** The first `length` hex digits of SHA-256 over the canonical JSON of `value`. */
export const hashOf = (value: unknown, length = 64): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, length);
