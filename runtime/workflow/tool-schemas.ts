import type { BackendTarget } from '../call/index.ts';
import { objectIn } from '../json/index.ts';
import type { ListedItem } from '../mcp/index.ts';
import type { TypeOfArgument } from './expansion.ts';
import { isObjectValue, type ValueType } from './values.ts';

const known = new WeakMap<ListedItem, TypeOfArgument>();

/** The types that a tool wants its arguments to have, as far as its `inputSchema` names one for each. */
export const typeOfArguments = ({ listed }: BackendTarget): TypeOfArgument => {
  if (!listed) return () => undefined;
  const before = known.get(listed);
  if (before) return before;
  const typeOf = typesIn(objectIn(listed.bytes)?.['inputSchema']);
  known.set(listed, typeOf);
  return typeOf;
};

const typesIn = (schema: unknown): TypeOfArgument => {
  const properties = isObjectValue(schema) ? schema['properties'] : undefined;
  const types = new Map<string, ValueType>();
  for (const [name, property] of Object.entries(isObjectValue(properties) ? properties : {})) {
    const type = isObjectValue(property) ? property['type'] : undefined;
    if (isValueType(type)) types.set(name, type);
  }
  return (name) => types.get(name);
};

const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array']);

const isValueType = (type: unknown): type is ValueType => TYPES.has(type);
