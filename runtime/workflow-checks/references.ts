import {
  type FieldReference,
  type Template,
  TemplateSyntaxError,
  fieldsOf,
  parseTemplate,
} from '../templates/index.ts';
import { type Fields, type WorkflowFinding, type WrittenTemplate, fieldsIn } from './written.ts';

/** A template that can be parsed, with what it reads. */
export interface ReadTemplate {
  readonly written: WrittenTemplate;
  readonly reads: readonly FieldReference[];
}

/** The template, or what is wrong with its text. */
export const readTemplate = (
  written: WrittenTemplate,
):
  | { readonly ok: true; readonly template: ReadTemplate }
  | { readonly ok: false; readonly finding: WorkflowFinding } => {
  try {
    const template: Template = parseTemplate(written.text);
    return { ok: true, template: { written, reads: fieldsOf(template) } };
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error;
    const { reason, position, remedy = 'correct the template (docs/templates.md)' } = error;
    const place = `line ${position.line}, column ${position.column} of the template`;
    return { ok: false, finding: { path: written.path, reason: `${reason} (${place})`, remedy } };
  }
};

/** What templates of one workflow may read. */
export interface Readable {
  readonly stepIds: ReadonlySet<string>;
  /** Names of parameters; undefined: any. */
  readonly parameters: ReadonlySet<string> | undefined;
}

/** Undefined where a caller may pass parameters that are not among `properties`, or nothing is said of them. */
export const parameterNames = (parameters: Fields | undefined): ReadonlySet<string> | undefined => {
  const properties = fieldsIn(parameters?.['properties']);
  if (parameters === undefined || properties === undefined) return undefined;
  const { additionalProperties, patternProperties } = parameters;
  const isOpen =
    (additionalProperties !== undefined && additionalProperties !== false) || patternProperties !== undefined;
  // What is put together of several schemas may name parameters anywhere.
  const isComposed = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if'].some((key) => Object.hasOwn(parameters, key));
  return isOpen || isComposed ? undefined : new Set(Object.keys(properties));
};

/** References of a template that lead nowhere. */
export const strayReferences = ({ written, reads }: ReadTemplate, readable: Readable): readonly WorkflowFinding[] =>
  reads.flatMap(({ path }) => {
    const words = strayed(path, written.names, readable);
    return words === undefined ? [] : [{ path: written.path, ...words }];
  });

type Words = Omit<WorkflowFinding, 'path'>;

/** What templates see of a step: docs/workflow-checks.md "What is refused". */
const STEP_MEMBERS: readonly string[] = ['output', 'status', 'error'];

const strayed = (path: readonly string[], names: readonly string[], readable: Readable): Words | undefined => {
  const [root, name, field] = path;
  if (root === undefined) return undefined;
  const roots = ['params', 'steps', 'workflow', 'vars', ...names];
  if (!roots.includes(root))
    return { reason: `there is no .${root} here`, remedy: `read one of ${roots.map((each) => `.${each}`).join(', ')}` };
  if (name === undefined) return undefined;
  if (root === 'params' && readable.parameters?.has(name) === false)
    return {
      reason: `there is no parameter ${JSON.stringify(name)}`,
      remedy: 'add it to parameters.properties, or read another one',
    };
  if (root !== 'steps') return undefined;
  if (!readable.stepIds.has(name))
    return { reason: `no step has the id ${JSON.stringify(name)}`, remedy: 'name a step of this workflow' };
  if (field === undefined || STEP_MEMBERS.includes(field)) return undefined;
  return {
    reason: `a step has no .${field}`,
    remedy: `read one of ${STEP_MEMBERS.map((each) => `.steps.${name}.${each}`).join(', ')}`,
  };
};

/** Ids of the steps that a template reads. */
export const stepsRead = ({ reads }: Pick<ReadTemplate, 'reads'>): ReadonlySet<string> =>
  new Set(reads.flatMap(({ path: [root, id] }) => (root === 'steps' && id !== undefined ? [id] : [])));
