import * as z from 'zod';
import { isDuration } from './durations.ts';
import { nearest } from './nearest.ts';
import { notYetOf } from './not-yet.ts';
import { FILE_KEY_OF_SECRET_REF } from './secret-spelling.ts';
import { fieldsOf, isOptional, isRecord, schemaAt, typeOf, wordsOf } from './schema-walk.ts';

/** A problem before it has a place in a text. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  /** The problem is the key itself, not its value. */
  readonly atKey?: boolean;
  /** There is no such key here. */
  readonly isUnknownKey?: boolean;
  readonly reason: string;
  readonly remedy: string;
}

interface Context {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
}

/** Explains an issue of zod: what is wrong and what to do. One issue may hold several unknown keys. */
export function explain(issue: z.core.$ZodIssue, { schema, value }: Context): readonly Finding[] {
  const { path } = issue;
  const given = valueAt(value, path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey(path, key, schema));
    case 'invalid_type':
      return [wrongType({ path, given, schema, expected: issue.expected, message: issue.message })];
    case 'invalid_value':
      return [wrongWord({ path, given, words: issue.values.map(String), unproposed: unproposedAt(schema, path) })];
    case 'too_small':
      return [{ path, ...outOfBounds(issue.origin, 'at least', issue.minimum) }];
    case 'too_big':
      return [{ path, ...outOfBounds(issue.origin, 'at most', issue.maximum) }];
    case 'invalid_key':
      return [{ path, atKey: true, ...inWords(issue.issues[0]?.message ?? issue.message) }];
    case 'custom':
      return [{ path, ...fromParams(issue.params, issue.message) }];
    default:
      return [{ path, ...inWords(issue.message) }];
  }
}

/** All findings of a schema in a value as written, worded as by the loader. */
export function findingsIn(schema: z.core.$ZodType, value: unknown): readonly Finding[] {
  const { error } = z.safeParse(schema, value);
  return (error?.issues ?? []).flatMap((issue) => explain(issue, { schema, value }));
}

/** Messages of our own schemas read "reason; remedy". */
function inWords(message: string): { reason: string; remedy: string } {
  const [reason = message, ...rest] = message.split('; ');
  return { reason, remedy: rest.length > 0 ? rest.join('; ') : 'correct the value' };
}

function fromParams(params: Record<string, unknown> | undefined, message: string): { reason: string; remedy: string } {
  const { reason, remedy } = params ?? {};
  return typeof reason === 'string' && typeof remedy === 'string' ? { reason, remedy } : inWords(message);
}

/**
 * What exists in resources only, by key, or by the whole path where the key is a word of many. docs/decisions.md "Keys
 * that only the file has"
 */
const RESOURCE_ONLY: ReadonlyMap<string, string> = new Map([
  ['toolConfigRef', 'belongs in a VirtualMCPServer; write filter and overrides here'],
  ['compositeToolRefs', 'belongs in a VirtualMCPServer; write compositeTools here'],
  ['passwordRef', 'belongs in a VirtualMCPServer; set VMCP_SESSION_KVSTORE_PASSWORD'],
  ['extensions.service', 'belongs in a VirtualMCPServer, for which the operator makes a Service; remove it here'],
  ...Object.entries(FILE_KEY_OF_SECRET_REF).map(
    ([key, file]) => [key, `belongs in a resource; write ${file} here`] as const,
  ),
]);

function unknownKey(path: readonly PropertyKey[], key: string, schema: z.core.$ZodType): Finding {
  const at = [...path, key];
  const known = RESOURCE_ONLY.get(at.join('.')) ?? RESOURCE_ONLY.get(key);
  if (known !== undefined) return { path: at, atKey: true, ...inWords(known) };
  const parent = schemaAt(schema, path);
  const keys = Object.keys((parent === undefined ? undefined : fieldsOf(parent)) ?? {});
  const meant = nearest(key, keys);
  const remedy =
    meant === undefined ? `correct its name; known here: ${keys.toSorted().join(', ')}` : `did you mean ${meant}?`;
  return { path: at, atKey: true, isUnknownKey: true, reason: 'unknown key', remedy };
}

interface Wrong {
  readonly path: readonly PropertyKey[];
  readonly given: unknown;
}

interface WrongType extends Wrong {
  readonly schema: z.core.$ZodType;
  readonly expected: string;
  readonly message: string;
}

function wrongType({ path, given, schema, expected, message }: WrongType): Finding {
  const field = schemaAt(schema, path);
  if (given === undefined) return { path, reason: 'is missing', remedy: `add ${hint(String(path.at(-1)), field)}` };
  if (given === null) {
    return { path, reason: 'has no value', remedy: `give it ${nameOf(expected)}` };
  }
  if (message.includes('; ')) return { path, ...inWords(message) };
  const reason = `must be ${nameOf(expected)}, not ${nameOf(kindOf(given))}`;
  if (expected === 'string' && (typeof given === 'number' || typeof given === 'boolean')) {
    return { path, reason, remedy: `put it in quotes: "${given}"` };
  }
  return { path, reason, remedy: `write ${nameOf(expected)}` };
}

interface WrongWord extends Wrong {
  readonly words: readonly string[];
  readonly unproposed: readonly string[];
}

function wrongWord({ path, given, words, unproposed }: WrongWord): Finding {
  const key = String(path.at(-1));
  const writable = words.filter((word) => !unproposed.includes(word) || WITHOUT_GUARD.has(word));
  if (given === undefined) return { path, reason: 'is missing', remedy: `add ${key}: ${choice(writable)}` };
  const meant = typeof given === 'string' ? nearest(given, writable) : undefined;
  const reason = `${JSON.stringify(given) ?? 'this'} is not a known value`;
  const proposed = writable.filter((word) => word === meant || !WITHOUT_GUARD.has(word));
  return { path, reason, remedy: `write ${choice(proposed)}${meant === undefined ? '' : ` (did you mean ${meant}?)`}` };
}

const unproposedAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] => {
  const field = schemaAt(schema, path);
  return (field && notYetOf(field)?.unproposed) ?? [];
};

/** Values that turn authentication off: they are not suggested for a misspelt value. */
const WITHOUT_GUARD: ReadonlySet<string> = new Set(['anonymous', 'none', 'unauthenticated']);

const choice = (words: readonly string[]): string =>
  words.map((word) => (word === '' ? '"" (empty)' : word)).join(' or ');

/** How a missing key is written: `type: oidc or anonymous`, or the required keys of an object, or its type. */
function hint(key: string, field: z.core.$ZodType | undefined): string {
  if (field === undefined) return key;
  const unproposed = notYetOf(field)?.unproposed ?? [];
  const words = wordsOf(field)?.filter((word) => !unproposed.includes(word) || WITHOUT_GUARD.has(word));
  if (words !== undefined) return `${key}: ${choice(words)}`;
  const required = Object.entries(fieldsOf(field) ?? {}).filter(([, inner]) => !isOptional(inner));
  if (required.length > 0) return `${key} with ${required.map(([name, inner]) => hint(name, inner)).join(', ')}`;
  return `${key}: ${isDuration(field) ? 'a duration such as 30s' : nameOf(typeOf(field))}`;
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'a map of keys and values',
  record: 'a map of keys and values',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  int: 'a whole number',
  // Every number of the contract is whole; decimals are texts.
  number: 'a whole number',
  float: 'a number with decimals',
};

const nameOf = (type: string): string => NAMES[type] ?? `a value of type ${type}`;

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return typeof value;
}

function outOfBounds(origin: string, word: 'at least' | 'at most', limit: number | bigint) {
  const correction = `${limit} or ${word === 'at least' ? 'more' : 'less'}`;
  if (origin === 'string') {
    const reason = word === 'at least' && limit === 1 ? 'must not be empty' : `must have ${word} ${limit} characters`;
    return { reason, remedy: limit === 1 ? 'write a text' : `write ${correction} characters` };
  }
  if (origin === 'array') {
    const items = limit === 1 ? 'item' : 'items';
    return { reason: `must have ${word} ${limit} ${items}`, remedy: `list ${correction}` };
  }
  return { reason: `must be ${word} ${limit}`, remedy: `write ${correction}` };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (Array.isArray(current)) current = (current as unknown[])[Number(key)];
    else if (isRecord(current)) current = current[String(key)];
    else return undefined;
  }
  return current;
}
