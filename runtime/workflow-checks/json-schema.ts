import { type Fields, type Path, type WorkflowFinding, fieldsIn } from './written.ts';

/**
 * Whether a value is a JSON Schema (2020-12, the dialect of MCP) that can be compiled. Without compiling it: schemas
 * come from tenants, and compiling makes code of them.
 */
export const schemaProblems = (schema: unknown, path: Path): readonly WorkflowFinding[] => {
  const check = new SchemaCheck(path);
  check.schema(schema, []);
  return [...check.found, ...check.referenceProblems()];
};

/** Schemas inside each other. */
const MAX_DEPTH = 64;

type Pointer = Path;
type Complaint = readonly [reason: string, remedy: string] | undefined;

class SchemaCheck {
  readonly found: WorkflowFinding[] = [];
  readonly #path: Path;
  /** Of each schema, by its JSON Pointer, the schemas that the same value has to satisfy. */
  readonly #inPlace = new Map<string, string[]>();
  readonly #references: { readonly from: Pointer; readonly to: string }[] = [];

  constructor(path: Path) {
    this.#path = path;
  }

  schema(value: unknown, at: Pointer): void {
    const own = textOf(at);
    this.#inPlace.set(own, []);
    if (typeof value === 'boolean') return;
    const fields = fieldsIn(value);
    if (fields === undefined) return this.#complain(at, ['is no JSON Schema', 'write an object, or true or false']);
    if (at.length > 2 * MAX_DEPTH) return this.#complain(at, ['is nested too deep', 'make the schema flatter']);
    for (const [key, inner] of Object.entries(fields)) {
      this.#complain([...at, key], KEYWORDS[key]?.(inner, fields));
      this.#below(key, inner, at);
    }
    if (typeof fields['$ref'] === 'string') this.#references.push({ from: at, to: fields['$ref'] });
  }

  /** References that lead nowhere, and those by which a value would be checked against the same schema without end. */
  referenceProblems(): readonly WorkflowFinding[] {
    const broken = this.#references.flatMap(({ from, to }) => {
      const target = pointerIn(to);
      if (target !== undefined && this.#inPlace.has(target)) {
        this.#inPlace.get(textOf(from))?.push(target);
        return [];
      }
      const reason = `no schema is at ${JSON.stringify(to)} of this schema`;
      return [{ path: this.#place([...from, '$ref']), reason, remedy: 'refer to one below $defs, as #/$defs/name' }];
    });
    const circular = this.#references.filter(({ from }) => this.#reachesItself(textOf(from)));
    return [
      ...broken,
      ...circular.map(({ from }) => ({
        path: this.#place([...from, '$ref']),
        reason: 'leads back to itself',
        remedy: 'refer to the schema from a property or an item',
      })),
    ];
  }

  #below(key: string, value: unknown, at: Pointer): void {
    const next = [...at, key];
    const inner = SCHEMA_KEYWORDS.has(key)
      ? [{ value, at: next }]
      : MAP_KEYWORDS.has(key)
        ? Object.entries(fieldsIn(value) ?? {}).map(([name, each]) => ({ value: each, at: [...next, name] }))
        : LIST_KEYWORDS.has(key) && Array.isArray(value)
          ? value.map((each: unknown, index) => ({ value: each, at: [...next, index] }))
          : [];
    for (const each of inner) {
      this.schema(each.value, each.at);
      if (IN_PLACE.has(key)) this.#inPlace.get(textOf(at))?.push(textOf(each.at));
    }
  }

  #reachesItself(start: string): boolean {
    const reached = new Set(this.#inPlace.get(start));
    // A set that grows while it is walked is walked to its end.
    for (const pointer of reached) for (const next of this.#inPlace.get(pointer) ?? []) reached.add(next);
    return reached.has(start);
  }

  #complain(at: Pointer, complaint: Complaint): void {
    if (complaint === undefined) return;
    const [reason, remedy] = complaint;
    this.found.push({ path: this.#place(at), reason, remedy });
  }

  #place(at: Pointer): Path {
    return [...this.#path, ...at];
  }
}

const textOf = (pointer: Pointer): string =>
  pointer.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** RFC 6901 §6: a JSON Pointer as the fragment of a URI. Undefined: it refers to something else. */
const pointerIn = (reference: string): string | undefined => {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
};

const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'items',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'if',
  'then',
  'else',
  'not',
  'contentSchema',
]);
const MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const LIST_KEYWORDS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Whose schemas are about the value itself, and not about a part of it. */
const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
]);

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

type Keyword = (value: unknown, schema: Fields) => Complaint;

const must = (isRight: (value: unknown) => boolean, wanted: string, remedy = `write ${wanted}`): Keyword => {
  const complaint = [`is not ${wanted}`, remedy] as const;
  return (value) => (isRight(value) ? undefined : complaint);
};
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') && new Set(value).size === value.length;
const isMap = (value: unknown): boolean => fieldsIn(value) !== undefined;

const aNumber = must((value) => typeof value === 'number', 'a number');
const aCount = must(isCount, 'a whole number of at least 0');
const aText = must((value) => typeof value === 'string', 'a text');
const aBoolean = must((value) => typeof value === 'boolean', 'true or false');
const aMap = must(isMap, 'a map of schemas');
const aList = must((value) => Array.isArray(value) && value.length > 0, 'a list that is not empty');
const texts = must(areTexts, 'a list of different texts');
const unavailable: Keyword = () => ['is not available', 'refer to schemas by their place, as #/$defs/name'];

const isPattern = (value: unknown): boolean => {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
};

const isType = (value: unknown): boolean =>
  TYPES.has(value) ||
  (Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => TYPES.has(each)) &&
    new Set(value).size === value.length);

const KEYWORDS: Readonly<Record<string, Keyword | undefined>> = Object.assign(Object.create(null), {
  type: must(isType, 'a type of JSON, or a list of some', `write ${[...TYPES].join(', ')}, or a list of some`),
  enum: aList,
  multipleOf: must((value) => typeof value === 'number' && value > 0, 'a number above 0'),
  maximum: aNumber,
  exclusiveMaximum: aNumber,
  minimum: aNumber,
  exclusiveMinimum: aNumber,
  maxLength: aCount,
  minLength: aCount,
  maxItems: aCount,
  minItems: aCount,
  maxContains: aCount,
  minContains: aCount,
  maxProperties: aCount,
  minProperties: aCount,
  uniqueItems: aBoolean,
  pattern: must(isPattern, 'a regular expression', 'write one of ECMAScript'),
  required: texts,
  dependentRequired: must(
    (value) => isMap(value) && Object.values(value as Fields).every(areTexts),
    'a map of lists of texts',
  ),
  dependencies: must(
    (value) => isMap(value) && Object.values(value as Fields).every(areTexts),
    'a map of lists of texts',
  ),
  properties: aMap,
  patternProperties: must(
    (value) => isMap(value) && Object.keys(value as Fields).every(isPattern),
    'a map by regular expressions',
  ),
  $defs: aMap,
  definitions: aMap,
  dependentSchemas: aMap,
  allOf: aList,
  anyOf: aList,
  oneOf: aList,
  prefixItems: aList,
  title: aText,
  description: aText,
  format: aText,
  $comment: aText,
  $ref: aText,
  $schema: aText,
  contentEncoding: aText,
  contentMediaType: aText,
  deprecated: aBoolean,
  readOnly: aBoolean,
  writeOnly: aBoolean,
  examples: must((value) => Array.isArray(value), 'a list'),
  nullable: ((value, { type }) => {
    if (typeof value !== 'boolean') return aBoolean(value, {});
    if (type === undefined) return ['means nothing without type', 'set type'];
    const hasNull = type === 'null' || (Array.isArray(type) && type.includes('null'));
    return hasNull && !value ? ['contradicts type', 'remove it'] : undefined;
  }) satisfies Keyword,
  id: unavailable,
  $id: unavailable,
  $anchor: unavailable,
  $dynamicAnchor: unavailable,
  $dynamicRef: unavailable,
  $recursiveAnchor: unavailable,
  $recursiveRef: unavailable,
  $vocabulary: unavailable,
} satisfies Record<string, Keyword>) as Record<string, Keyword | undefined>;
