import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { clipped } from '../text.ts';
import { type SyncTimeout, syncTimeout } from '../process/index.ts';

/** What is wrong with a value, for its author. */
export interface Issue {
  /** JSON Pointer (RFC 6901) into the value; empty: the whole of it. */
  readonly path: string;
  readonly message: string;
}

/**
 * Fills defaults into the value, which is changed, and says what is wrong with it. `bytes`: of its JSON text. A check
 * that takes longer than 250 ms is given up, and the value counts as wrong.
 */
export type CheckValue = (value: unknown, bytes: number) => readonly Issue[];

export type CompileSchema = (schema: Readonly<Record<string, unknown>>) => CheckValue;

/** Most issues of one value. */
const MAX_ISSUES = 20;
const MAX_MS = 250;

/** A smaller value is checked at once, unless its schema has keywords that may take far more time than reading it. */
const SMALL_BYTES = 16 * 1024;

/**
 * A regular expression may backtrack without end, items of a list are compared with each other, and references may
 * double at each level.
 */
const COSTLY = /"(?:pattern|patternProperties|uniqueItems|\$ref)":/;

const TOO_LONG: Issue = { path: '', message: 'cannot be checked in time' };

/**
 * Compiles JSON Schemas of one configuration (2020-12, the dialect that MCP names). Throws where a schema is none.
 * `format` says what a text is meant to be, and checks nothing.
 */
export const schemaCompiler = (): CompileSchema => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, useDefaults: true, validateFormats: false, logger: false });
  let timeout: SyncTimeout | undefined;
  return ({ $schema: _dialect, ...schema }) => {
    const validate = ajv.compile(schema);
    const isCostly = COSTLY.test(JSON.stringify(schema));
    const check = (value: unknown): readonly Issue[] => {
      const errors = validate(value) ? [] : (validate.errors ?? []);
      // The function would keep them until its next use.
      validate.errors = null;
      return errors.slice(0, MAX_ISSUES).map(issueOf);
    };
    return (value, bytes) => {
      if (!isCostly && bytes <= SMALL_BYTES) return check(value);
      timeout ??= syncTimeout();
      return timeout(MAX_MS, () => check(value)) ?? [TOO_LONG];
    };
  };
};

const issueOf = ({ instancePath: path, message = 'is not valid', params }: ErrorObject): Issue => {
  const { additionalProperty, allowedValues } = params;
  if (typeof additionalProperty === 'string')
    return { path, message: `${message}: ${clipped(JSON.stringify(additionalProperty))}` };
  if (Array.isArray(allowedValues)) return { path, message: `${message}: ${clipped(JSON.stringify(allowedValues))}` };
  return { path, message };
};
