import * as z from 'zod';

import { notYetOf, rulesOf } from '../runtime/config/index.ts';
import type { Marks } from './kit.ts';
import { marksOf } from './kit.ts';

/**
 * A structural schema as Kubernetes understands it, still holding what YAML cannot: the rules with their checks and the
 * reference marks. Validation, defaulting, the reference walk and the generated YAML all read this one tree.
 */
export interface SchemaNode extends Marks {
  /** Absent: a value of any kind. */
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  /** What is wrong with a text that does not match, and what to write instead. */
  readonly patternMessage?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode;
  readonly items?: SchemaNode;
  /** What does not exist yet (`notYet`): the operator refuses to act on another value than the default. */
  readonly notYet?: string;
  /** `map`: entries are told apart by `listKeys`; the API server refuses duplicates and merges by them. */
  readonly listType?: 'map' | 'set';
  readonly listKeys?: readonly string[];
}

/**
 * Translates the input side of a zod schema. Throws for what a structural schema cannot say (a union of different
 * types), so that a field can never silently lose its validation.
 */
export const structuralOf = (schema: z.core.$ZodType): SchemaNode => translate(schema, []);

/** Entries of a list or a map that has no bound of its own. */
const MAX_ENTRIES = 1_000;

/**
 * Adds a bound to every list and map that has none: the author of an object decides how many entries it has, and the
 * operator would otherwise work on one object for minutes.
 */
export const bounded = (node: SchemaNode): SchemaNode => {
  const { properties, additionalProperties, items } = node;
  const inner = Object.entries(properties ?? {}).map(([name, field]) => [name, bounded(field)]);
  return {
    ...node,
    ...(properties && { properties: Object.fromEntries(inner) }),
    ...(additionalProperties && {
      maxProperties: node.maxProperties ?? MAX_ENTRIES,
      additionalProperties: bounded(additionalProperties),
    }),
    ...(items && { maxItems: node.maxItems ?? MAX_ENTRIES, items: bounded(items) }),
  };
};

const ANYTHING: SchemaNode = { preserveUnknownFields: true };

function translate(schema: z.core.$ZodType, within: readonly z.core.$ZodType[]): SchemaNode {
  // A schema inside itself cannot be written down in a CRD (no `$ref`): from the second level on anything is kept.
  if (within.includes(schema)) return { type: 'object', ...ANYTHING };
  const shape = shapeOf(schema, [...within, schema]);
  const { below = {}, ...marks } = marksOf(schema);
  const node = marked(
    marked({ ...shape, ...metaOf(schema), ...notYetMark(schema) }, { rules: rulesOf(schema) }),
    marks,
  );
  return Object.entries(below).reduce((tree, [path, more]) => markAt(tree, path.split('.'), more, path), node);
}

function marked(node: SchemaNode, { rules = [], ...marks }: Marks): SchemaNode {
  const all = [...(node.rules ?? []), ...rules];
  return { ...node, ...marks, ...(all.length === 0 ? {} : { rules: all }) };
}

function shapeOf(schema: z.core.$ZodType, within: readonly z.core.$ZodType[]): SchemaNode {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return objectNode(def, within);
    case 'array':
      return {
        type: 'array',
        ...leafKeywords(schema, ['minItems', 'maxItems']),
        items: translate(def.element, within),
      };
    case 'record':
      return mapNode(translate(def.valueType, within));
    case 'enum':
      return { type: 'string', enum: Object.values(def.entries) };
    case 'literal':
      return literalNode(def.values);
    case 'union':
      return unionNode(def.options.map((option) => translate(option, within)));
    case 'unknown':
    case 'any':
      return ANYTHING;
    case 'optional':
    case 'readonly':
    case 'nonoptional':
      return translate(def.innerType, within);
    case 'default':
    case 'prefault':
      return withDefault(translate(def.innerType, within), def.defaultValue);
    case 'pipe':
      return translate(def.in, within);
    case 'lazy':
      return translate(def.getter(), within);
    default:
      return scalarNode(schema);
  }
}

function literalNode(values: readonly unknown[]): SchemaNode {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  if ((type === 'string' || type === 'boolean') && others.length === 0) return { type, enum: values };
  throw new Error(`a structural schema has no literals but texts and booleans: ${values.map(String).join(', ')}`);
}

function objectNode(def: z.core.$ZodObjectDef, within: readonly z.core.$ZodType[]): SchemaNode {
  const entries = Object.entries(def.shape);
  const required = entries.filter(([, field]) => field._zod.optin === undefined).map(([name]) => name);
  const isOpen = def.catchall !== undefined && def.catchall._zod.def.type !== 'never';
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, translate(field, within)])),
    ...(required.length === 0 ? {} : { required }),
    ...(isOpen ? ANYTHING : {}),
  };
}

function mapNode(value: SchemaNode): SchemaNode {
  return value.type === undefined ? { type: 'object', ...ANYTHING } : { type: 'object', additionalProperties: value };
}

/** Defaults of objects are left out: they would create objects (and so features) that the user did not write. */
function withDefault(node: SchemaNode, value: unknown): SchemaNode {
  return node.type === 'object' ? node : { ...node, default: value };
}

function unionNode(options: readonly SchemaNode[]): SchemaNode {
  const type = options[0]?.type;
  if (type !== 'string' || options.some((option) => option.type !== 'string' || option.enum === undefined)) {
    throw new Error('a structural schema has no unions other than enumerations of strings');
  }
  return { type, enum: options.flatMap((option) => option.enum ?? []) };
}

const SCALAR_KEYWORDS = ['type', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum'] as const;

function scalarNode(schema: z.core.$ZodType): SchemaNode {
  const { minimum, maximum, ...rest } = { ...leafKeywords(schema, SCALAR_KEYWORDS), ...patternMessageOf(schema) };
  if (rest.format === 'date-time') return { type: 'string', format: 'date-time' };
  if (rest.type !== 'integer') return { ...rest, ...numbers({ minimum, maximum }) };
  const isInt32 = maximum !== undefined && maximum <= INT32_MAX;
  return {
    ...rest,
    format: isInt32 ? 'int32' : 'int64',
    // Bounds that only restate the width of the number are the format's to say.
    ...numbers({
      minimum: minimum !== undefined && minimum > INT32_MIN ? minimum : undefined,
      maximum: maximum !== undefined && maximum < INT32_MAX ? maximum : undefined,
    }),
  };
}

/** The error given to `.regex(…, { error })`; zod keeps it as a function of the issue. */
function patternMessageOf(schema: z.core.$ZodType): Pick<SchemaNode, 'patternMessage'> {
  for (const check of schema._zod.def.checks ?? []) {
    const { pattern, error } = check._zod.def as unknown as {
      readonly pattern?: RegExp;
      readonly error?: (issue: object) => unknown;
    };
    const message = pattern === undefined ? undefined : error?.({});
    if (typeof message === 'string') return { patternMessage: message };
  }
  return {};
}

const INT32_MAX = 2_147_483_647;
const INT32_MIN = -2_147_483_648;

function numbers(bounds: Readonly<Record<string, number | undefined>>): Partial<SchemaNode> {
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined));
}

/** What zod's own JSON Schema says about one value, cut down to the keywords named. */
function leafKeywords(schema: z.core.$ZodType, keywords: readonly (keyof SchemaNode)[]): SchemaNode {
  const json: Readonly<Record<string, unknown>> = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' });
  if (json['type'] === undefined || json['allOf'] !== undefined || json['anyOf'] !== undefined) {
    throw new Error(`a structural schema cannot say ${JSON.stringify(json)}`);
  }
  return Object.fromEntries(keywords.filter((word) => json[word] !== undefined).map((word) => [word, json[word]]));
}

function notYetMark(schema: z.core.$ZodType): Pick<SchemaNode, 'notYet'> {
  const feature = notYetOf(schema)?.feature;
  return feature === undefined ? {} : { notYet: feature };
}

/** Description and list type; a wrapper's own wins over those of what it wraps. */
function metaOf(schema: z.core.$ZodType): Partial<SchemaNode> {
  const meta = z.globalRegistry.get(schema);
  const listType = meta?.['x-kubernetes-list-type'] as 'map' | 'set' | undefined;
  const listKeys = meta?.['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  return {
    ...(meta?.description === undefined ? {} : { description: meta.description }),
    ...(listType === undefined ? {} : { listType }),
    ...(listKeys === undefined ? {} : { listKeys }),
    ...(typeof meta?.['maxProperties'] === 'number' ? { maxProperties: meta['maxProperties'] } : {}),
  };
}

/** `a.b[].c` and `a.*` (values of a map) lead to the node; a path that leads nowhere is a mistake in the table. */
function markAt(node: SchemaNode, path: readonly string[], marks: Marks, whole: string): SchemaNode {
  const [step, ...rest] = path;
  if (step === undefined) return marked(node, marks);
  const name = step.replaceAll('[]', '');
  const depth = (step.length - name.length) / 2;
  const child = name === '*' ? node.additionalProperties : node.properties?.[name];
  if (child === undefined) throw new Error(`no field ${whole} to mark`);
  const changed = markInItems(child, depth, (item) => markAt(item, rest, marks, whole));
  if (name === '*') return { ...node, additionalProperties: changed };
  return { ...node, properties: { ...node.properties, [name]: changed } };
}

function markInItems(node: SchemaNode, depth: number, mark: (item: SchemaNode) => SchemaNode): SchemaNode {
  if (depth === 0) return mark(node);
  if (node.items === undefined) throw new Error('only lists have items to mark');
  return { ...node, items: markInItems(node.items, depth - 1, mark) };
}
