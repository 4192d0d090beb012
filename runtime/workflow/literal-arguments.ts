import type { BackendTarget } from '../call/index.ts';
import { objectIn } from '../json/index.ts';
import { clipped } from '../text.ts';
import { isOfType } from '../workflow-checks/index.ts';
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

/** Problems of one workflow that are told, and the longest name in them: backends write schemas. */
const MOST_PROBLEMS = 5;
const MAX_TEXT = 64;

/**
 * What the input schemas of the tools say against the arguments of their calls, a line each, tool by tool. Schemas come
 * from backends, so they are read and not compiled: `required`, `additionalProperties`, and `type` and `enum` of
 * arguments that are no templates. Values of arguments may be secret, and are not told.
 */
export const argumentProblems = (
  calls: readonly WrittenCall[],
  targetOf: (reference: string) => BackendTarget | undefined,
): readonly string[] =>
  [...Map.groupBy(calls, ({ reference }) => reference)]
    .flatMap(([reference, of]) => {
      const listed = targetOf(reference)?.listed;
      if (!listed) return [];
      const schema = schemaIn(listed.bytes);
      return of.flatMap((call) =>
        problemsWith(call, schema).map((problem) => `step ${JSON.stringify(call.step)}: ${reference} ${problem}`),
      );
    })
    .slice(0, MOST_PROBLEMS);

type Fields = Readonly<Record<string, unknown>>;

/** Not kept: read, a schema may take twenty times the memory of its text. */
const schemaIn = (tool: Buffer): Fields => {
  const schema = objectIn(tool)?.['inputSchema'];
  return isObjectValue(schema) ? schema : {};
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
    return [`wants an argument ${quoted(name)} of type ${clipped(types.join(' or '), MAX_TEXT)}`];
  if (!Array.isArray(words) || typeof value === 'object' || words.includes(value)) return [];
  const wanted = words.slice(0, MOST_WORDS).map((word) => JSON.stringify(word));
  return [`wants as argument ${quoted(name)} one of ${clipped(wanted.join(', '), MAX_TEXT)}`];
};

/** Of an `enum` that are told. */
const MOST_WORDS = 10;

const quoted = (name: string): string => clipped(JSON.stringify(name), MAX_TEXT);
