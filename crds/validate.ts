import { firstIndexes } from '../runtime/config/index.ts';
import type { Fields } from './defaults.ts';
import { isObject, ownProperty } from './defaults.ts';
import type { ResourceProblem } from './problem.ts';
import { pathText } from './problem.ts';
import type { SchemaNode } from './structural.ts';

type Path = readonly (string | number)[];

/**
 * Everything the API server would refuse in a value that already has its defaults: types, bounds, duplicates, unknown
 * fields (as `kubectl apply` reports them) and the CEL rules of every part whose shape is right.
 */
export function problemsIn(node: SchemaNode, value: unknown): readonly ResourceProblem[] {
  const { shape, rules } = check(node, value, []);
  return [...shape, ...rules];
}

interface Findings {
  readonly shape: readonly ResourceProblem[];
  readonly rules: readonly ResourceProblem[];
}

function check(node: SchemaNode, value: unknown, path: Path): Findings {
  const wrongType = typeProblem(node, value);
  if (wrongType !== undefined) return { shape: [at(path, wrongType)], rules: [] };
  const inside = childrenOf(node, value).map(([step, child, field]) => check(child, field, [...path, step]));
  const shape = [...ownProblems(node, value, path), ...inside.flatMap((findings) => findings.shape)];
  const own = shape.length > 0 ? [] : ruleProblems(node, value, path);
  return { shape, rules: [...own, ...inside.flatMap((findings) => findings.rules)] };
}

function childrenOf(node: SchemaNode, value: unknown): readonly (readonly [string | number, SchemaNode, unknown])[] {
  const { properties = {}, additionalProperties, items } = node;
  if (Array.isArray(value)) return items === undefined ? [] : value.map((item, index) => [index, items, item] as const);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const child = ownProperty(properties, key) ?? additionalProperties;
    return child === undefined ? [] : [[key, child, field] as const];
  });
}

function ownProblems(node: SchemaNode, value: unknown, path: Path): readonly ResourceProblem[] {
  const own = [...scalarProblems(node, value), ...sizeProblems(node, value)].map((words) => at(path, words));
  if (Array.isArray(value)) return [...own, ...duplicateProblems(node, value, path)];
  return isObject(value) ? [...own, ...fieldProblems(node, value, path)] : own;
}

interface Words {
  readonly reason: string;
  readonly remedy: string;
}

const at = (path: Path, { reason, remedy }: Words): ResourceProblem => ({ path: pathText(path), reason, remedy });

const isOfType: Readonly<Record<NonNullable<SchemaNode['type']>, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
};

function typeProblem({ type }: SchemaNode, value: unknown): Words | undefined {
  if (type === undefined || isOfType[type](value)) return undefined;
  const article = /^[aio]/.test(type) ? 'an' : 'a';
  const remedy = type === 'string' && typeof value !== 'object' ? 'put it in quotes' : `write ${article} ${type}`;
  return { reason: `must be ${article} ${type}, is ${nameOf(value)}`, remedy };
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : JSON.stringify(value);
}

const RANGES = { int32: [-(2 ** 31), 2 ** 31 - 1], int64: [-(2 ** 63), 2 ** 63] } as const;

function* scalarProblems(node: SchemaNode, value: unknown): Generator<Words> {
  if (node.enum !== undefined && !node.enum.includes(value)) {
    const words = node.enum.map((word) => JSON.stringify(word)).join(', ');
    yield { reason: `${JSON.stringify(value)} is not one of ${words}`, remedy: 'use one of these values' };
  }
  if (typeof value === 'number') yield* numberProblems(node, value);
  if (typeof value === 'string') yield* textProblems(node, value);
}

function* numberProblems({ format, minimum, maximum }: SchemaNode, value: number): Generator<Words> {
  const [least, most] = format === 'int32' || format === 'int64' ? RANGES[format] : [-Infinity, Infinity];
  const low = Math.max(minimum ?? -Infinity, least);
  const high = Math.min(maximum ?? Infinity, most);
  if (value < low) yield { reason: `must be at least ${low}, is ${value}`, remedy: `write ${low} or more` };
  if (value > high) yield { reason: `must be at most ${high}, is ${value}`, remedy: `write ${high} or less` };
}

function* textProblems(node: SchemaNode, value: string): Generator<Words> {
  const { pattern, minLength = 0, maxLength = Infinity } = node;
  const length = Array.from(value).length; // characters, as the API server counts, not UTF-16 units
  if (length < minLength) yield { reason: 'must not be empty', remedy: 'give it a value' };
  if (length > maxLength) yield { reason: `must have at most ${maxLength} characters`, remedy: 'shorten it' };
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) yield mismatch(node, value);
}

function mismatch({ pattern, patternMessage }: SchemaNode, value: string): Words {
  const [reason, remedy] = patternMessage?.split('; ') ?? [];
  if (reason === undefined) return { reason: `does not match ${pattern}`, remedy: 'write it in this form' };
  return { reason: `${JSON.stringify(value)} is ${reason}`, remedy: remedy ?? `write it as ${pattern}` };
}

function* sizeProblems(node: SchemaNode, value: unknown): Generator<Words> {
  const { minItems = 0, maxItems = Infinity, maxProperties = Infinity } = node;
  if (Array.isArray(value)) {
    if (value.length < minItems) yield { reason: `must have at least ${minItems} items`, remedy: 'add one' };
    if (value.length > maxItems)
      yield { reason: `must have at most ${maxItems} items`, remedy: `list ${maxItems} or less` };
  } else if (isObject(value) && Object.keys(value).length > maxProperties) {
    yield { reason: `must have at most ${maxProperties} entries`, remedy: `write ${maxProperties} or less` };
  }
}

function fieldProblems(node: SchemaNode, value: Fields, path: Path): readonly ResourceProblem[] {
  const { properties = {}, required = [], additionalProperties, preserveUnknownFields } = node;
  const missing = required
    .filter((name) => value[name] === undefined)
    .map((name) => at([...path, name], { reason: 'is required', remedy: `set ${named(name, properties)}` }));
  const isOpen = additionalProperties !== undefined || preserveUnknownFields === true;
  const unknown = isOpen ? [] : Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  const words = unknownField(Object.keys(properties));
  return [...missing, ...unknown.map((key) => ({ ...at([...path, key], words), isUnknownField: true }))];
}

function named(name: string, properties: Readonly<Record<string, SchemaNode>>): string {
  const description = ownProperty(properties, name)?.description;
  return description === undefined ? name : `${name} (${description.replace(/\.$/, '')})`;
}

function unknownField(known: readonly string[]): Words {
  const fields = known.length === 0 ? 'this object has none' : `known here: ${known.join(', ')}`;
  return { reason: 'unknown field', remedy: `correct its name or indentation (${fields})` };
}

function duplicateProblems(node: SchemaNode, value: readonly unknown[], path: Path): readonly ResourceProblem[] {
  if (node.listType === undefined) return [];
  const firsts = firstIndexes(value.map((item) => JSON.stringify(identityOf(node, item))));
  return firsts.flatMap((first, index) => {
    if (first === index) return [];
    const what = node.listKeys === undefined ? 'each value once' : `each item its own ${node.listKeys.join(' and ')}`;
    return [at([...path, index], { reason: `is a duplicate of item ${first}`, remedy: `give ${what}` })];
  });
}

function identityOf({ listKeys }: SchemaNode, item: unknown): unknown {
  return listKeys === undefined || !isObject(item) ? item : listKeys.map((key) => item[key]);
}

function ruleProblems({ rules = [] }: SchemaNode, value: unknown, path: Path): readonly ResourceProblem[] {
  return rules
    .filter((rule) => !rule.holds(value))
    .map((rule) => at(rule.field === undefined ? path : [...path, ...rule.field.split('.')], rule));
}
