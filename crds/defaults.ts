import type { SchemaNode } from './structural.ts';

/**
 * The value as the API server stores it: a known field that is null counts as left out, and defaults are filled in
 * wherever their parent object is there. Returns a copy; unknown fields stay.
 */
export function withDefaults(node: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = node;
    return items === undefined ? structuredClone(value) : value.map((item) => withDefaults(items, item));
  }
  return isObject(value) ? objectWithDefaults(node, value) : value;
}

function objectWithDefaults(node: SchemaNode, value: Fields): Fields {
  const { properties = {}, additionalProperties } = node;
  const filled: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const child = ownProperty(properties, key) ?? additionalProperties;
    if (field === undefined || (field === null && child !== undefined)) continue;
    filled[key] = child === undefined ? structuredClone(field) : withDefaults(child, field);
  }
  for (const [key, child] of Object.entries(properties)) {
    if (filled[key] === undefined && child.default !== undefined) filled[key] = structuredClone(child.default);
  }
  return filled;
}

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field of the schema by name; `constructor` and the like are no fields. */
export const ownProperty = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
