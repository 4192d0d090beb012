import { isOfType, isTextOfType } from './json-types.ts';
import {
  type Fields,
  type Path,
  type WorkflowFinding,
  type WrittenTemplate,
  fieldsIn,
  member,
  textsIn,
} from './written.ts';

/** The templates of the output's properties, nested ones included. */
export const outputTemplates = (output: Fields | undefined): readonly WrittenTemplate[] =>
  properties(output).flatMap(({ path, fields }) => {
    const { value } = fields;
    return typeof value === 'string' ? [{ path: [...path, 'value'], text: value, names: [] }] : [];
  });

/** What can be said of the output without running the workflow. */
export const outputProblems = (output: Fields | undefined): readonly WorkflowFinding[] => [
  ...textsIn(output?.['required']).flatMap((name, index) =>
    member(output?.['properties'], name) === undefined
      ? [
          {
            path: ['output', 'required', index],
            reason: `the output has no property ${JSON.stringify(name)}`,
            remedy: 'name a property of the output',
          },
        ]
      : [],
  ),
  ...properties(output).flatMap(({ path, fields, isRequired }) => propertyProblems(path, fields, isRequired)),
];

const propertyProblems = (path: Path, fields: Fields, isRequired: boolean): readonly WorkflowFinding[] => {
  const { type, value, default: otherwise, properties: nested } = fields;
  if (nested !== undefined && type !== undefined && type !== 'object')
    return [
      {
        path: [...path, 'properties'],
        reason: `only a property of type object has properties`,
        remedy: 'set type: object',
      },
    ];
  if (isRequired && value === undefined && otherwise === undefined && nested === undefined)
    return [{ path, reason: 'is required, and nothing gives it a value', remedy: 'set value' }];
  if (typeof type !== 'string') return [];
  if (otherwise !== undefined && otherwise !== null)
    return isUsable(otherwise, type)
      ? []
      : [{ path: [...path, 'default'], reason: `is never of type ${type}`, remedy: 'write one of this type' }];
  if (typeof value !== 'string' || value.includes('{{') || isTextOfType(value, type)) return [];
  return [
    { path: [...path, 'value'], reason: `is never of type ${type}`, remedy: 'write a template, or another type' },
  ];
};

/** A default that cannot be made to be of the type is never used. */
const isUsable = (value: unknown, type: string): boolean => {
  if (type === 'string' || isOfType(value, type) !== false) return true;
  return typeof value === 'string' && isTextOfType(value, type);
};

interface Property {
  readonly path: Path;
  readonly fields: Fields;
  readonly isRequired: boolean;
}

const properties = (output: Fields | undefined): readonly Property[] => {
  const required = new Set(textsIn(output?.['required']));
  return below(output?.['properties'], ['output'], required);
};

const NONE: ReadonlySet<string> = new Set();
/** The webhook refuses what is nested deeper before it comes here. */
const MAX_DEPTH = 32;

const below = (value: unknown, path: Path, required: ReadonlySet<string>): readonly Property[] =>
  Object.entries(fieldsIn(value) ?? {}).flatMap(([name, property]) => {
    const fields = fieldsIn(property);
    if (fields === undefined || path.length > 2 * MAX_DEPTH) return [];
    const own = [...path, 'properties', name];
    return [{ path: own, fields, isRequired: required.has(name) }, ...below(fields['properties'], own, NONE)];
  });
