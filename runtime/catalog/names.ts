import { createHash } from 'node:crypto';

/** Real clients reject longer names (docs/decisions.md "Names of tools"). */
const MAX_NAME_LENGTH = 64;

const HASH_DIGITS = 8;

/**
 * The name under rule `prefix`: `prefixFormat` with `{workload}` filled in, then the tool's own name, cut to 64
 * characters.
 */
export const prefixedName = (prefixFormat: string, workload: string, tool: string): string =>
  cutName(prefixFormat.replaceAll('{workload}', () => workload) + tool);

/**
 * Longer names end in `_` and eight hex digits of the whole name's SHA-256, so that they stay distinct and the same on
 * every replica.
 */
export const cutName = (name: string): string => {
  const characters = Array.from(name);
  if (characters.length <= MAX_NAME_LENGTH) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, HASH_DIGITS);
  return `${characters.slice(0, MAX_NAME_LENGTH - HASH_DIGITS - 1).join('')}_${digest}`;
};
