import { type Fields, type WorkflowFinding, type WrittenStep, fieldsIn, textsIn } from './written.ts';

/** What single fields of a step cannot mean. */
export const fieldProblems = ({ type, fields, path }: WrittenStep): readonly WorkflowFinding[] => [
  ...wordProblem(fields, [...path, 'condition']),
  ...(type === 'forEach' ? loopProblems(fields, path) : []),
];

/** A condition that is the same for every call, and no answer. */
const wordProblem = (fields: Fields, path: WrittenStep['path']): readonly WorkflowFinding[] => {
  const { condition } = fields;
  if (typeof condition !== 'string' || condition.includes('{{') || /^\s*(?:true|false)\s*$/i.test(condition)) return [];
  return [
    {
      path,
      reason: 'gives neither true nor false',
      remedy: 'write a template, as {{eq .params.environment "production"}}',
    },
  ];
};

const loopProblems = (fields: Fields, path: WrittenStep['path']): readonly WorkflowFinding[] => {
  const { collection, itemVar, step } = fields;
  const inner = fieldsIn(step);
  return [
    ...(typeof collection === 'string' && !collection.includes('{{') && !isJsonList(collection)
      ? [
          {
            path: [...path, 'collection'],
            reason: 'is never a JSON array',
            remedy: 'write a template, as {{json .steps.find.output.items}}',
          },
        ]
      : []),
    ...(typeof itemVar === 'string' && TAKEN.has(itemVar)
      ? [
          {
            path: [...path, 'itemVar'],
            reason: `.${itemVar} has a meaning in all templates of the step`,
            remedy: 'give it another name',
          },
        ]
      : []),
    ...(inner === undefined ? [] : wordProblem(inner, [...path, 'step', 'condition'])),
  ];
};

/** Names that templates of an inner step know beside the item. */
const TAKEN: ReadonlySet<string> = new Set(['index', 'forEach', 'params', 'steps', 'workflow', 'vars']);

const isJsonList = (text: string): boolean => {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
};

const OF_TOOL = ['tool', 'arguments'];
const OF_QUESTION = ['message', 'schema', 'onDecline', 'onCancel'];
/** Without those that have defaults: they are in every stored object. */
const OF_LOOP = ['collection', 'step'];
const FOREIGN: Readonly<Record<WrittenStep['type'], readonly string[]>> = {
  tool: [...OF_QUESTION, ...OF_LOOP],
  elicitation: [...OF_TOOL, ...OF_LOOP],
  forEach: [...OF_TOOL, ...OF_QUESTION],
};

/** Fields that are written, and mean nothing for a step of this type. */
export const idleFields = ({ type, fields, path }: WrittenStep): readonly WorkflowFinding[] =>
  FOREIGN[type]
    .filter((name) => fields[name] !== undefined)
    .map((name) => ({
      path: [...path, name],
      reason: `means nothing for a step of type ${type}`,
      remedy: 'remove it, or set another type',
    }));

/** Parameters that callers have to give and are not told of. */
export const undeclaredRequired = (parameters: Fields | undefined): readonly WorkflowFinding[] => {
  const properties = fieldsIn(parameters?.['properties']) ?? {};
  return textsIn(parameters?.['required']).flatMap((name, index) =>
    Object.hasOwn(properties, name)
      ? []
      : [
          {
            path: ['parameters', 'required', index],
            reason: `there is no parameter ${JSON.stringify(name)}`,
            remedy: 'describe it in parameters.properties',
          },
        ],
  );
};
