import type { BackendTarget } from '../call/index.ts';
import { objectIn } from '../json/index.ts';
import type { ListedItem } from '../mcp/index.ts';
import type { ArgumentType, TypeOfArgument } from './expansion.ts';
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
  const types = new Map<string, ArgumentType>();
  for (const [name, property] of Object.entries(isObjectValue(properties) ? properties : {})) {
    const type = typeIn(property);
    if (type) types.set(name, type);
  }
  return (name) => types.get(name);
};

/** `integer` or `[integer, 'null']`, or `anyOf` of both. Undefined: there is none, or there are several. */
const typeIn = (schema: unknown): ArgumentType | undefined => {
  const { type, anyOf, oneOf } = isObjectValue(schema) ? schema : {};
  const types = type === undefined ? typesOfEach(anyOf ?? oneOf) : [type].flat();
  const [only, ...others] = types.filter((each) => each !== 'null');
  return isValueType(only) && others.length === 0 ? { type: only, isNullable: types.length > 1 } : undefined;
};

const typesOfEach = (schemas: unknown): readonly unknown[] =>
  Array.isArray(schemas) ? schemas.map((each: unknown) => (isObjectValue(each) ? each['type'] : undefined)) : [];

const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array']);

const isValueType = (type: unknown): type is ValueType => TYPES.has(type);
