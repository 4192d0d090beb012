import type { BackendTarget } from '../call/index.ts';
import { objectIn } from '../json/index.ts';
import type { ListedItem } from '../mcp/index.ts';
import { clipped } from '../text.ts';
import { templateIn } from './expansion.ts';
import type { WorkflowConfig } from './step.ts';
import { isObjectValue } from './values.ts';

/** A call of a step, as far as it is the same in each run. */
export interface WrittenCall {
  readonly step: string;
  /** `<workload>.<tool>` */
  readonly reference: string;
  readonly args: readonly WrittenArgument[];
}

interface WrittenArgument {
  readonly name: string;
  readonly value: unknown;
  /** Templates are known in a run only. */
  readonly isLiteral: boolean;
}

export const writtenCalls = ({ steps }: Pick<WorkflowConfig, 'steps'>): readonly WrittenCall[] =>
  steps.flatMap(({ id, type, tool, arguments: args, step }) => {
    const [reference, written = {}] = type === 'forEach' ? [step?.tool, step?.arguments] : [tool, args];
    if (reference === undefined || type === 'elicitation') return [];
    const all = Object.entries(written).map(([name, value]) => ({ name, value, isLiteral: !templateIn(value) }));
    return [{ step: id, reference, args: all }];
  });

/** Problems of one workflow that are told, and the longest name or value in them: backends write schemas. */
const MOST_PROBLEMS = 5;
const MAX_TEXT = 64;

/**
 * What the input schemas of the tools say against the arguments of their calls, a line each. Schemas come from
 * backends, so they are read and not compiled: `required`, `additionalProperties`, and `type` and `enum` of arguments
 * that are no templates.
 */
export const argumentProblems = (
  calls: readonly WrittenCall[],
  targetOf: (reference: string) => BackendTarget | undefined,
): readonly string[] =>
  calls
    .flatMap((call) => {
      const listed = targetOf(call.reference)?.listed;
      const problems = listed ? problemsWith(call, schemaOf(listed)) : [];
      return problems.map((problem) => `step ${JSON.stringify(call.step)}: ${call.reference} ${problem}`);
    })
    .slice(0, MOST_PROBLEMS);

type Fields = Readonly<Record<string, unknown>>;

const known = new WeakMap<ListedItem, Fields>();

const schemaOf = (listed: ListedItem): Fields => {
  const before = known.get(listed);
  if (before) return before;
  const schema = objectIn(listed.bytes)?.['inputSchema'];
  const found = isObjectValue(schema) ? schema : {};
  known.set(listed, found);
  return found;
};

const problemsWith = ({ args }: WrittenCall, schema: Fields): readonly string[] => {
  const { required, additionalProperties, patternProperties } = schema;
  const properties = isObjectValue(schema['properties']) ? schema['properties'] : {};
  const given = new Set(args.map(({ name }) => name));
  const isClosed = additionalProperties === false && patternProperties === undefined;
  return [
    ...args.flatMap(({ name, value, isLiteral }) => {
      if (!Object.hasOwn(properties, name)) return isClosed ? [`takes no argument ${quoted(name)}`] : [];
      return isLiteral ? valueProblem(name, value, properties[name]) : [];
    }),
    ...(Array.isArray(required) ? required : [])
      .filter((name) => typeof name === 'string' && !given.has(name))
      .slice(0, MOST_PROBLEMS)
      .map((name) => `wants an argument ${quoted(name)}`),
  ];
};

const valueProblem = (name: string, value: unknown, schema: unknown): readonly string[] => {
  const { type, enum: words } = isObjectValue(schema) ? schema : {};
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.length > 0 && types.every((each) => isOfType(value, each) === false))
    return [
      `takes no such argument ${quoted(name)}: ${quoted(value)} is not of type ${clipped(types.join(', '), MAX_TEXT)}`,
    ];
  const isListed = !Array.isArray(words) || typeof value === 'object' || words.includes(value);
  return isListed ? [] : [`takes no such argument ${quoted(name)}: ${quoted(value)} is none of the values allowed`];
};

const quoted = (value: unknown): string => clipped(JSON.stringify(value), MAX_TEXT);

/** Undefined: there is no such type. */
const isOfType = (value: unknown, type: unknown): boolean | undefined => {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObjectValue(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return undefined;
  }
};
