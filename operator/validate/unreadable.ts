import type { KubeObject } from '../object.ts';
import { type Violation, violation } from './validator.ts';

/** A pod template has about a dozen levels. */
const MAX_DEPTH = 64;
/**
 * Characters of the field names, one below another, that lead to a map or list: each problem in it has a path that
 * repeats them.
 */
const MAX_PATH_CHARACTERS = 2048;
/** Most characters of a spec, as JSON: the bound of the work that it makes. */
export const MAX_SPEC_CHARACTERS = 256 * 1024;

/** How large a spec is, and what is wrong with that; it is walked no further than it takes to know. */
export interface Measured {
  /** Characters of JSON, about; more than `MAX_SPEC_CHARACTERS` are not counted. */
  readonly size: number;
  readonly unreadable: Violation | undefined;
}

/**
 * The API server takes what is nested thousands of levels deep, and whatever walks that runs out of stack: this walks
 * without recursion.
 */
export const measured = ({ spec }: KubeObject): Measured => {
  const open = Object.entries(spec ?? {}).map(([field, value]) => ({ field, value, depth: 1, path: field.length }));
  let size = open.reduce((sum, { field }) => sum + field.length + PUNCTUATION, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { field, value, depth, path } = next;
    size += typeof value === 'string' ? value.length + QUOTES : PUNCTUATION;
    if (size > MAX_SPEC_CHARACTERS) return { size, unreadable: tooLarge };
    if (typeof value !== 'object' || value === null) continue;
    if (depth > MAX_DEPTH) return { size, unreadable: tooDeep(field) };
    if (path > MAX_PATH_CHARACTERS) return { size, unreadable: tooLong(field) };
    const isList = Array.isArray(value);
    for (const key in value) {
      size += isList ? 1 : key.length + PUNCTUATION;
      // Only so many are put aside as are walked.
      if (size > MAX_SPEC_CHARACTERS) return { size, unreadable: tooLarge };
      const inner = (value as Readonly<Record<string, unknown>>)[key];
      open.push({ field, value: inner, depth: depth + 1, path: path + key.length });
    }
  }
  return { size, unreadable: undefined };
};

const QUOTES = 2;
/** Quotes, colon and comma of a key; a number, a boolean or braces. */
const PUNCTUATION = 4;

const tooLarge: Violation = {
  ...violation(
    'spec',
    `is larger than ${MAX_SPEC_CHARACTERS / 1024} KiB`,
    'make it smaller, or split it into several objects',
  ),
  conditionReason: 'TooLarge',
};

const tooDeep = (field: string): Violation =>
  violation(`spec.${field}`, `is nested more than ${MAX_DEPTH} levels deep`, 'make it flatter');

const tooLong = (field: string): Violation =>
  violation(
    `spec.${field}`,
    `has field names of more than ${MAX_PATH_CHARACTERS} characters, one below another`,
    'make them shorter',
  );

/**
 * Why nothing can be made of an object but its status, and nothing is to look at its spec; to be asked before anything
 * else does.
 */
export const unreadable = (object: KubeObject): Violation | undefined =>
  leftOutReason(object) ?? measured(object).unreadable;

/** Why the object is held without its spec; undefined: it has all of it. */
export const leftOutReason = (object: KubeObject): Violation | undefined => object[MARK] as Violation | undefined;

/**
 * The object without what is not looked at: so many as there may be, they take no memory. It stays a member of its
 * group.
 */
export const withoutSpec = (object: KubeObject, why: Violation): KubeObject => {
  const { apiVersion, kind, spec, status } = object;
  const { labels: _, annotations, ...metadata } = object.metadata;
  const isAllowed = annotations?.[ALLOW_DELETE] === 'true';
  const { groupRef } = (spec ?? {}) as { readonly groupRef?: { readonly name?: unknown } };
  const name = typeof groupRef?.name === 'string' && groupRef.name.length < MAX_NAME_LENGTH ? groupRef.name : undefined;
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, ...(isAllowed && { annotations: { [ALLOW_DELETE]: 'true' } }) },
    spec: name === undefined ? {} : { groupRef: { name } },
    ...(status === undefined ? {} : { status }),
    [MARK]: why,
  };
};

/** On an object to be deleted: its users are known, and it goes all the same. */
export const ALLOW_DELETE = 'vmcp.dev/allow-delete';

/** Of an object in Kubernetes. */
const MAX_NAME_LENGTH = 254;

/** No field of any Kubernetes object. */
const MARK = 'isLeftOut';
