import { fieldsIn } from './written.ts';

/** The words of conditions and of booleans: docs/composite-tools.md "Conditions" */
export const isBooleanText = (text: string): boolean => /^\s*(?:true|True|TRUE|false|False|FALSE)\s*$/.test(text);

/** Whether a text without templates can be read as the type of an output property. */
export const isTextOfType = (text: string, type: string): boolean => {
  if (type === 'string') return true;
  if (type === 'boolean') return isBooleanText(text);
  try {
    return isOfType(JSON.parse(text), type);
  } catch {
    return false;
  }
};

/** Whether a JSON value is of a type of JSON Schema; true for what is no such type. */
export const isOfType = (value: unknown, type: unknown): boolean => {
  const known = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  return known === undefined || known(value);
};

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => fieldsIn(value) !== undefined,
  array: (value) => Array.isArray(value),
  null: (value) => value === null,
};
