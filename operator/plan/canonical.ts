import { createHash } from 'node:crypto';

/**
 * JSON with the keys of every object in code-point order: equal values give equal text. Parts that are nested deeper
 * than an object may be (`validate/unreadable.ts`) count as equal.
 */
export const canonicalJson = (value: unknown): string => text(value, 0) ?? 'null';

const MAX_DEPTH = 256;

/** Undefined for what JSON leaves out. */
const text = (value: unknown, depth: number): string | undefined => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth > MAX_DEPTH) return '"…"';
  if (Array.isArray(value)) return `[${value.map((each) => text(each, depth + 1) ?? 'null').join(',')}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, each]) => {
      const member = text(each, depth + 1);
      return member === undefined ? [] : [`${JSON.stringify(key)}:${member}`];
    });
  return `{${members.join(',')}}`;
};

/** The first `length` hex digits of SHA-256 over the canonical JSON of `value`. */
export const hashOf = (value: unknown, length = 64): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, length);
