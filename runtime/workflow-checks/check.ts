import { missingDefaults, incompleteDefaults } from './default-results.ts';
import { type ReadStep, circularReads, inferredDependencies, readsOfAllSteps } from './dependencies.ts';
import { elicitationProblems } from './elicitation-schema.ts';
import { schemaProblems } from './json-schema.ts';
import { outputProblems, outputTemplates } from './output-properties.ts';
import { type ReadTemplate, parameterNames, readTemplate, strayReferences } from './references.ts';
import {
  fieldProblems,
  idleFields,
  idleRetries,
  timeProblem,
  undeclaredRequired,
  unfitDefaults,
} from './step-fields.ts';
import {
  type WorkflowFinding,
  type WrittenStep,
  type WrittenTemplate,
  type WrittenWorkflow,
  fieldsIn,
} from './written.ts';

/** Problems of one workflow that are told; the author decides how many there are. */
const MAX_FINDINGS = 100;

export interface WorkflowFindings {
  /** What keeps it from running: it is refused. */
  readonly problems: readonly WorkflowFinding[];
  /** What it says and probably does not mean; only of a workflow without problems. */
  readonly doubts: readonly WorkflowFinding[];
}

/** A workflow ends after this time, whatever its `timeout` says: docs/workflow-checks.md "What is warned of" */
export const MAX_WORKFLOW_MS = 30 * 60_000;

/** What can be said of a workflow before it runs, beyond its schema. Never throws. */
export const checkWorkflow = (workflow: WrittenWorkflow): WorkflowFindings => {
  const { parameters, output } = workflow;
  const steps = workflow.steps.map((step) => ({ step, ...readAll(step.templates) }));
  const result = readAll(outputTemplates(output));
  const readSteps: readonly ReadStep[] = steps.map(({ step, read }) => ({ ...step, read }));
  const readable = {
    stepIds: new Set(readSteps.map(({ id }) => id)),
    parameters: parameterNames(parameters),
  };
  const templates = [...readSteps.flatMap(({ read }) => read), ...result.read];
  const problems = [
    ...parameterProblems(workflow),
    ...timeProblem(workflow.timeoutMs, ['timeout']),
    ...steps.flatMap(({ step, problems }) => [...problems, ...fieldProblems(step), ...questionProblems(step)]),
    ...result.problems,
    ...outputProblems(output),
    ...templates.flatMap((template) => strayReferences(template, readable)),
    ...circularReads(readSteps),
    ...missingDefaults(readSteps, result.read),
  ];
  if (problems.length > 0) return { problems: unique(problems), doubts: [] };
  return {
    problems: [],
    doubts: unique([
      ...undeclaredRequired(parameters),
      ...unfitDefaults(parameters),
      ...timeoutDoubts(workflow),
      ...readSteps.flatMap(idleFields),
      ...readSteps.flatMap(idleRetries),
      ...inferredDependencies(readSteps),
      ...readsOfAllSteps(readSteps),
      ...incompleteDefaults(readSteps, result.read),
    ]),
  };
};

const readAll = (
  templates: readonly WrittenTemplate[],
): { readonly read: readonly ReadTemplate[]; readonly problems: readonly WorkflowFinding[] } => {
  const all = templates.map(readTemplate);
  return {
    read: all.flatMap((each) => (each.ok ? [each.template] : [])),
    problems: all.flatMap((each) => (each.ok ? [] : [each.finding])),
  };
};

const parameterProblems = ({ parameters }: WrittenWorkflow): readonly WorkflowFinding[] => {
  if (parameters === undefined) return [];
  const { type } = parameters;
  if (type !== undefined && type !== 'object')
    return [{ path: ['parameters', 'type'], reason: 'arguments are an object', remedy: 'set type: object' }];
  return schemaProblems(parameters, ['parameters']);
};

const questionProblems = ({ type, fields, path }: WrittenStep): readonly WorkflowFinding[] => {
  const schema = fieldsIn(fields['schema']);
  return type === 'elicitation' && schema !== undefined ? elicitationProblems(schema, [...path, 'schema']) : [];
};

const timeoutDoubts = ({ timeoutMs }: WrittenWorkflow): readonly WorkflowFinding[] =>
  timeoutMs !== undefined && timeoutMs > MAX_WORKFLOW_MS
    ? [{ path: ['timeout'], reason: 'a workflow ends after 30 minutes in any case', remedy: 'set 30m or less' }]
    : [];

/** Each once: a template may read one place many times. */
const unique = (findings: readonly WorkflowFinding[]): readonly WorkflowFinding[] =>
  [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()].slice(0, MAX_FINDINGS);
