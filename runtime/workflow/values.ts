import { isTooDeep } from '../templates/index.ts';
import { isOfType } from '../workflow-checks/index.ts';

/** The types that an output property, or the schema of an argument, may ask for. */
export type ValueType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';

/** JSON's own numbers (RFC 8259 §6), with blanks around them. */
const NUMBER = /^\s*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\s*$/;

/** The value of this type that a text stands for; undefined: it stands for none. */
export const valueOfText = (text: string, type: ValueType): unknown => {
  if (type === 'string') return text;
  if (type === 'boolean') return BOOLEANS.get(text.trim());
  if (type === 'object' || type === 'array') {
    const value = parsed(text);
    return isOfType(value, type) ? value : undefined;
  }
  if (!NUMBER.test(text)) return undefined;
  const number = Number(text);
  const isOne = type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isOne ? number : undefined;
};

/** docs/composite-tools.md "Conditions": these words, with blanks around them. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
]);

/** A JSON value as one of this type; undefined: it cannot be one. */
export const coerced = (value: unknown, type: ValueType | undefined): unknown => {
  if (type === undefined || isOfType(value, type)) return value;
  if (typeof value === 'string') return valueOfText(value, type);
  if (type === 'string') return JSON.stringify(value);
  return undefined;
};

export const isObjectValue = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for a name that is not the record's own, as the id of a step may be `constructor`. */
export const ownMember = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

/** The value of a JSON text; undefined: it is none, or nested too deep to be written again. */
export const parsed = (text: string): unknown => {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};
