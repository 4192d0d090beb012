import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

/** What is wrong with a value, for its author. */
export interface Issue {
  /** JSON Pointer (RFC 6901) into the value; empty: the whole of it. */
  readonly path: string;
  readonly message: string;
}

/** Fills defaults into the value, which is changed, and says what is wrong with it. */
export type CheckValue = (value: unknown) => readonly Issue[];

export type CompileSchema = (schema: Readonly<Record<string, unknown>>) => CheckValue;

/** Most issues of one value. */
const MAX_ISSUES = 20;

/**
 * Compiles JSON Schemas of one configuration (2020-12, the dialect that MCP names). Throws where a schema is none.
 * `format` says what a text is meant to be, and checks nothing.
 */
export const schemaCompiler = (): CompileSchema => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, useDefaults: true, validateFormats: false, logger: false });
  return ({ $schema: _dialect, ...schema }) => {
    const validate = ajv.compile(schema);
    return (value) => (validate(value) ? [] : (validate.errors ?? []).slice(0, MAX_ISSUES).map(issueOf));
  };
};

const issueOf = ({ instancePath: path, message = 'is not valid' }: ErrorObject): Issue => ({ path, message });
