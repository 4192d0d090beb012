import { schemaProblems } from './json-schema.ts';
import { type Fields, type Path, type WorkflowFinding, fieldsIn, textsIn } from './written.ts';

/**
 * Whether a client can make a form of the schema: MCP 2025-11-25 "Elicitation" allows a flat object whose properties
 * are texts, numbers, booleans and choices.
 */
export const elicitationProblems = (schema: Fields, path: Path): readonly WorkflowFinding[] => {
  const wrong = schemaProblems(schema, path);
  if (wrong.length > 0) return wrong;
  const properties = fieldsIn(schema['properties']);
  if (schema['type'] !== 'object')
    return [{ path: [...path, 'type'], reason: 'a question asks for an object', remedy: 'set type: object' }];
  if (properties === undefined)
    return [
      { path, reason: 'a question needs properties', remedy: 'set properties, empty ones to ask for agreement only' },
    ];
  return [
    ...Object.keys(schema)
      .filter((key) => !TOP.has(key))
      .map((key) => ({ path: [...path, key], ...NOT_IN_A_QUESTION })),
    ...textsIn(schema['required']).flatMap((name, index) =>
      Object.hasOwn(properties, name)
        ? []
        : [
            {
              path: [...path, 'required', index],
              reason: `there is no property ${JSON.stringify(name)}`,
              remedy: 'name one of properties',
            },
          ],
    ),
    ...Object.entries(properties).flatMap(([name, property]) =>
      propertyProblems(fieldsIn(property) ?? {}, [...path, 'properties', name]),
    ),
  ];
};

const TOP: ReadonlySet<string> = new Set(['$schema', 'type', 'properties', 'required', 'title', 'description']);
const NOT_IN_A_QUESTION = { reason: 'is no part of a question (MCP "Elicitation")', remedy: 'remove it' };

const COMMON = ['type', 'title', 'description', 'default'];
/** What a property of each type may say. */
const ALLOWED: Readonly<Record<string, ReadonlySet<string>>> = {
  string: new Set([...COMMON, 'minLength', 'maxLength', 'pattern', 'format', 'enum', 'enumNames', 'oneOf']),
  number: new Set([...COMMON, 'minimum', 'maximum']),
  integer: new Set([...COMMON, 'minimum', 'maximum']),
  boolean: new Set(COMMON),
  array: new Set([...COMMON, 'items', 'minItems', 'maxItems', 'uniqueItems']),
};
const FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time']);

const propertyProblems = (property: Fields, path: Path): readonly WorkflowFinding[] => {
  const { type, format, items } = property;
  const allowed = typeof type === 'string' && Object.hasOwn(ALLOWED, type) ? ALLOWED[type] : undefined;
  if (allowed === undefined)
    return [
      {
        path: [...path, 'type'],
        reason: 'a question asks for texts, numbers, booleans and choices, and for nothing nested',
        remedy: 'use string, number, integer, boolean, or array with items.enum',
      },
    ];
  const foreign = Object.keys(property).filter((key) => !allowed.has(key));
  return [
    ...foreign.map((key) => ({ path: [...path, key], ...NOT_IN_A_QUESTION })),
    ...(format === undefined || FORMATS.has(format)
      ? []
      : [{ path: [...path, 'format'], reason: 'no client knows it', remedy: 'use email, uri, date or date-time' }]),
    ...(type === 'array' && !isChoice(items)
      ? [
          {
            path: [...path, 'items'],
            reason: 'a list is a choice of several',
            remedy: 'set items.enum, or items.anyOf with const and title',
          },
        ]
      : []),
    ...(type === 'string' && property['oneOf'] !== undefined && !areChoices(property['oneOf'])
      ? [{ path: [...path, 'oneOf'], reason: 'is no list of choices', remedy: 'give each a const and a title' }]
      : []),
    ...(property['enum'] !== undefined && textsIn(property['enum']).length !== (property['enum'] as unknown[]).length
      ? [{ path: [...path, 'enum'], reason: 'choices are texts', remedy: 'quote them' }]
      : []),
  ];
};

const isChoice = (items: unknown): boolean => {
  const { type = 'string', enum: values, anyOf } = fieldsIn(items) ?? {};
  return type === 'string' && (values === undefined ? areChoices(anyOf) : textsIn(values).length > 0);
};

const areChoices = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof fieldsIn(each)?.['const'] === 'string');
