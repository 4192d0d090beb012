import type { KubeObject } from '../object.ts';
import { type Violation, violation } from './validator.ts';

/** A pod template has about a dozen levels. */
const DEEPEST = 64;

/**
 * The API server takes what is nested thousands of levels deep, and whatever walks that runs out of stack: to be asked before anything
 * else looks at a spec, and therefore without recursion.
 */
export const nestedTooDeep = ({ spec }: KubeObject): Violation | undefined => {
  const open = Object.entries(spec ?? {}).map(([field, value]) => ({ field, value, depth: 1 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { field, value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > DEEPEST) {
      return violation(`spec.${field}`, `is nested more than ${DEEPEST} levels deep`, 'make it flatter');
    }
    for (const inner of Object.values(value) as readonly unknown[])
      open.push({ field, value: inner, depth: depth + 1 });
  }
  return undefined;
};
