import type { KubeObject } from '../object.ts';
import { unreadable, withoutSpec } from '../validate/unreadable.ts';
import { outlineOf } from './outline.ts';
import { isOfOurGroup, trim } from './trim.ts';
import { weightOf } from './weight.ts';

/**
 * Bytes in memory, about, of one object of a kind that is not ours: a Deployment with thousands of mounts takes less.
 */
const MOST_OF_ONE = 4 * 1024 * 1024;

/**
 * What the cache needs of an object, whatever else is held: nothing of it can be made so large that one object alone is
 * a burden.
 */
export const heldAlone = (object: KubeObject): KubeObject => {
  const trimmed = trim(object);
  if (!isOfOurGroup(trimmed)) return weightOf(trimmed) > MOST_OF_ONE ? outlineOf(trimmed) : trimmed;
  const why = unreadable(trimmed);
  return why === undefined ? trimmed : withoutSpec(trimmed, why);
};
