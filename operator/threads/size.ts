/** How much there is of a JSON value, keys included. */
export interface Size {
  readonly values: number;
  readonly characters: number;
  /** Whether there are policies in it, or references to some. */
  readonly hasPolicies: boolean;
}

/**
 * More than two thousand backends with long names, URLs and headers have: copying it to another thread would block this
 * one.
 */
const TOO_LARGE = 6_000_000;
/** What it takes to copy a value, in characters that take as long. */
const VALUE = 8;

/** The reason that is given for work that is too large. */
export const TOO_LARGE_TEXT = 'takes more than 6 MB of what it names';

export const isTooLarge = ({ values, characters }: Size): boolean => VALUE * values + characters > TOO_LARGE;

/**
 * Whether the main thread is not to work on it: there are more values and characters than so many, or policies, for
 * which a thread first loads Cedar.
 */
export const isForThread = ({ values, characters, hasPolicies }: Size, most: number): boolean =>
  hasPolicies || values + characters > most;

/** Values that are walked without blocking the thread noticeably. */
const SLICE = 10_000;

/**
 * The size of a value, whose parts are never changed in place; of what is too large no more than it takes to know that.
 * It is walked in slices with a `pause` between two of them.
 */
export const sizeOf = async (value: unknown, pause: () => Promise<void>): Promise<Size> => {
  const walk = walked(value, false);
  for (let slice = walk.next(); ; slice = walk.next()) {
    if (slice.done === true) return slice.value;
    await pause();
  }
};

/**
 * Where objects of Kubernetes, and what is made of them, hold most of what they hold. It is the same from one look to
 * the next, unlike what is around it.
 */
const PARTS: ReadonlySet<string> = new Set(['spec', 'status', 'data', 'fieldsV1', 'written', 'files', 'backendFiles']);

/** The key under which every kind that has policies has them. */
const POLICIES = 'authzConfig';

/** Of parts. */
const known = new WeakMap<object, Size>();

/**
 * Yields after each slice. Without recursion but for one level of parts: what is nested deeply has to pass here as
 * well.
 */
function* walked(value: unknown, isPart: boolean): Generator<undefined, Size> {
  const open: unknown[] = [value];
  const size = { values: 0, characters: 0, hasPolicies: false };
  let steps = 0;
  for (let next = open.pop(); next !== undefined && !isTooLarge(size); next = open.pop()) {
    if (typeof next === 'string') size.characters += next.length;
    if (typeof next !== 'object' || next === null) continue;
    const entries: Iterable<readonly [unknown, unknown]> = next instanceof Map ? next : Object.entries(next);
    for (const [key, inner] of entries) {
      size.values += 1;
      size.hasPolicies ||= key === POLICIES;
      steps += 1;
      if (steps % SLICE === 0) yield;
      if (isPart || !isObject(inner) || !PARTS.has(String(key))) {
        open.push(key, inner ?? 0);
        continue;
      }
      const part = known.get(inner) ?? (yield* walked(inner, true));
      known.set(inner, part);
      size.values += part.values;
      size.hasPolicies ||= part.hasPolicies;
      size.characters += part.characters + String(key).length;
    }
  }
  return size;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

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
