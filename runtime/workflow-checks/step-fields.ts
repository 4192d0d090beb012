import { isBooleanText, isOfType } from './json-types.ts';
import { type Fields, type WorkflowFinding, type WrittenStep, fieldsIn, textsIn } from './written.ts';

/** What single fields of a step cannot mean. */
export const fieldProblems = ({ type, fields, path }: WrittenStep): readonly WorkflowFinding[] => [
  ...wordProblem(fields, [...path, 'condition']),
  ...timeProblem(fields['timeout'], [...path, 'timeout']),
  ...(type === 'forEach' ? loopProblems(fields, path) : []),
];

/** A condition that is the same for every call, and no answer. */
const wordProblem = (fields: Fields, path: WrittenStep['path']): readonly WorkflowFinding[] => {
  const { condition } = fields;
  if (typeof condition !== 'string' || condition.includes('{{') || isBooleanText(condition)) return [];
  return [
    {
      path,
      reason: 'gives neither true nor false',
      remedy: 'write a template, as {{eq .params.environment "production"}}',
    },
  ];
};

/** `time`: milliseconds, or a text. */
export const timeProblem = (time: unknown, path: WrittenStep['path']): readonly WorkflowFinding[] =>
  time === 0 || (typeof time === 'string' && NO_TIME.test(time))
    ? [{ path, reason: 'is over before anything is done', remedy: 'set a longer time' }]
    : [];

const NO_TIME = /^(?:0+(?:\.0+)?(?:ns|us|µs|ms|s|m|h))+$/;

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
    ...(inner === undefined
      ? []
      : [
          ...wordProblem(inner, [...path, 'step', 'condition']),
          ...timeProblem(inner['timeout'], [...path, 'step', 'timeout']),
        ]),
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

const OF_RETRY = ['retryCount', 'retryDelay'];

/** How often to try again, where nothing is tried again. */
export const idleRetries = ({ fields, path }: WrittenStep): readonly WorkflowFinding[] =>
  [
    { onError: fieldsIn(fields['onError']), at: path },
    { onError: fieldsIn(fieldsIn(fields['step'])?.['onError']), at: [...path, 'step'] },
  ].flatMap(({ onError, at }) => {
    const { action = 'abort' } = onError ?? {};
    if (onError === undefined || action === 'retry') return [];
    return OF_RETRY.filter((name) => onError[name] !== undefined).map((name) => ({
      path: [...at, 'onError', name],
      reason: `means nothing where action is ${String(action)}`,
      remedy: 'set action: retry, or remove it',
    }));
  });

/** Defaults of parameters with which every call is refused that lacks the parameter. */
export const unfitDefaults = (parameters: Fields | undefined): readonly WorkflowFinding[] =>
  Object.entries(fieldsIn(parameters?.['properties']) ?? {}).flatMap(([name, schema]) => {
    const { type, default: preset } = fieldsIn(schema) ?? {};
    if (preset === undefined || type === undefined || [type].flat().some((each) => isOfType(preset, each) !== false))
      return [];
    const wanted = [type].flat().map(String).join(' or ');
    return [
      {
        path: ['parameters', 'properties', name, 'default'],
        reason: `is not of type ${wanted}, so that calls without ${JSON.stringify(name)} are refused`,
        remedy: 'write one of this type',
      },
    ];
  });

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
