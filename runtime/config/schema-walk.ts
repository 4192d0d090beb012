import type * as z from 'zod';

/** The parts of a zod definition that contain other schemas. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly entries?: Readonly<Record<string, string>>;
}

const definitionOf = (schema: z.core.$ZodType): Definition => schema._zod.def;

/** The schema inside an optional, defaulted or transformed one. */
export function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const { innerType, in: input } = definitionOf(schema);
  return innerType ?? input;
}

/** The schema without anything optional, defaulted or transformed around it. */
export function coreOf(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = innerOf(schema);
  return inner === undefined ? schema : coreOf(inner);
}

/** The named fields of an object schema, in the order they are written; undefined for other schemas. */
export function fieldsOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | undefined {
  return definitionOf(coreOf(schema)).shape;
}

/** The schema of the items of a list or of the values of a map. */
export function itemOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const { element, valueType } = definitionOf(coreOf(schema));
  return element ?? valueType;
}

/** The words an enum allows. */
export function wordsOf(schema: z.core.$ZodType): readonly string[] | undefined {
  const { entries } = definitionOf(coreOf(schema));
  return entries === undefined ? undefined : Object.values(entries);
}

/** `string`, `object`, `array`, `record`, `enum`, `int`, `boolean`, `unknown` … */
export function typeOf(schema: z.core.$ZodType): string {
  return definitionOf(coreOf(schema)).type;
}

/** The schema of the value at `path`; undefined where nothing is allowed or anything is. */
export function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const next = fieldsOf(schema)?.[String(key)] ?? itemOf(schema);
  return next === undefined ? undefined : schemaAt(next, rest);
}

/** Whether a value may be left out. */
export function isOptional(schema: z.core.$ZodType): boolean {
  return schema._zod.optin !== undefined;
}

/** The current position of a walk. */
export interface At {
  readonly schema: z.core.$ZodType;
  /** As written: nothing is parsed, and a value that does not fit its schema is not descended into. */
  readonly value: unknown;
  readonly path: readonly (string | number)[];
}

/** Walks a value along its schema, outermost first, and descends where `see` returns true. */
export function walk({ schema, value, path }: At, see: (at: At) => boolean): void {
  if (value === undefined || !see({ schema, value, path })) return;
  const inner = innerOf(schema);
  if (inner !== undefined) return walk({ schema: inner, value, path }, see);
  const [fields, item] = [fieldsOf(schema), itemOf(schema)];
  const go = (next: z.core.$ZodType | undefined, key: string | number, each: unknown): void => {
    if (next !== undefined) walk({ schema: next, value: each, path: [...path, key] }, see);
  };
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) go(item, index, each);
  } else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) {
      go(fields === undefined ? item : Object.hasOwn(fields, key) ? fields[key] : undefined, key, each);
    }
  }
}

/** Whether a value is an object and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
