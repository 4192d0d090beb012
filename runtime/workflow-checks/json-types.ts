import { fieldsIn } from './written.ts';

/** The words of conditions and of booleans: docs/composite-tools.md "Conditions" */
export const isBooleanText = (text: string): boolean => /^\s*(?:true|True|TRUE|false|False|FALSE)\s*$/.test(text);

/** Whether a text without templates can be read as the type of an output property. */
export const isTextOfType = (text: string, type: string): boolean => {
  if (type === 'string') return true;
  if (type === 'boolean') return isBooleanText(text);
  try {
    return isOfType(JSON.parse(text), type) !== false;
  } catch {
    return false;
  }
};

/** Whether a value is of this type of JSON Schema; undefined: there is no such type. */
export const isOfType = (value: unknown, type: unknown): boolean | undefined => {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return fieldsIn(value) !== undefined;
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return undefined;
  }
};
