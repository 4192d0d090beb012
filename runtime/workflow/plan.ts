import { createHash } from 'node:crypto';
import { parseTemplate, type Template } from '../templates/index.ts';
import { MAX_WORKFLOW_MS } from '../workflow-checks/index.ts';
import type { Attempts } from './attempt.ts';
import { edgesOf, inOrder } from './graph.ts';
import { type CheckValue, type CompileSchema, schemaCompiler } from './json-schema.ts';
import { type WrittenCall, writtenCalls } from './literal-arguments.ts';
import { attemptsOf } from './on-error.ts';
import { type OutputPlan, planOutput } from './output.ts';
import { STEP_TYPES } from './step-types.ts';
import type { StepConfig, StepWork, WorkflowConfig } from './step.ts';

/** A composite tool of a configuration, ready to be run. */
export interface WorkflowPlan {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Of arguments: fills in defaults. */
  readonly check: CheckValue;
  /** In an order in which each waits only for those before it. */
  readonly steps: readonly PlannedStep[];
  readonly output: OutputPlan | undefined;
  readonly timeoutMs: number;
  /** The tools that it calls, as `<workload>.<tool>`, each once. */
  readonly tools: readonly string[];
  /** The calls of its steps, to be checked against the tools that backends list. */
  readonly calls: readonly WrittenCall[];
  /** Different for each definition of the workflow. */
  readonly digest: string;
}

export interface PlannedStep {
  readonly id: string;
  readonly type: StepConfig['type'];
  readonly waitsFor: ReadonlySet<string>;
  readonly condition: Template | undefined;
  readonly attempts: Attempts;
  /** A failure does not end the workflow. */
  readonly continues: boolean;
  readonly defaultResults: unknown;
  readonly work: StepWork;
}

/** The workflows by name. Throws an error that names the one that cannot be run, and why. */
export const planWorkflows = (configs: readonly WorkflowConfig[] = []): ReadonlyMap<string, WorkflowPlan> => {
  const compile = schemaCompiler();
  return new Map(configs.map((config) => [config.name, planned(config, compile)]));
};

const planned = (config: WorkflowConfig, compile: CompileSchema): WorkflowPlan => {
  try {
    return planWorkflow(config, compile);
  } catch (error) {
    throw new Error(`composite tool "${config.name}": ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

const planWorkflow = (config: WorkflowConfig, compile: CompileSchema): WorkflowPlan => {
  const { name, description, parameters = {}, output, timeout = Infinity } = config;
  const inputSchema = { type: 'object', ...parameters };
  const steps = plannedSteps(config, compile);
  return {
    name,
    description,
    inputSchema,
    check: compile(inputSchema),
    steps,
    output: output && planOutput(output),
    timeoutMs: Math.min(timeout, MAX_WORKFLOW_MS),
    tools: [...new Set(steps.flatMap(({ work }) => work.tools))],
    calls: writtenCalls(config),
    digest: createHash('sha256').update(JSON.stringify(config)).digest('base64url'),
  };
};

const plannedSteps = ({ steps }: WorkflowConfig, compile: CompileSchema): readonly PlannedStep[] => {
  const parts = steps.map((step) => partsOf(step, compile));
  const edges = edgesOf(
    parts.map(({ step: { id, dependsOn = [] }, condition, work }) => ({
      id,
      dependsOn,
      templates: [...(condition ? [condition] : []), ...work.templates],
    })),
  );
  const byId = new Map(parts.map((part) => [part.step.id, part]));
  return inOrder([...byId.keys()], edges).flatMap((id) => {
    const part = byId.get(id);
    return part ? [stepOf(part, edges.get(id) ?? new Set())] : [];
  });
};

interface Parts {
  readonly step: StepConfig;
  readonly condition: Template | undefined;
  readonly work: StepWork;
}

const partsOf = (step: StepConfig, compile: CompileSchema): Parts => ({
  step,
  condition: step.condition === undefined ? undefined : parseTemplate(step.condition),
  work: STEP_TYPES[step.type].plan(step, compile),
});

const stepOf = ({ step, condition, work }: Parts, waitsFor: ReadonlySet<string>): PlannedStep => ({
  id: step.id,
  type: step.type,
  waitsFor,
  condition,
  attempts: attemptsOf(step),
  continues: step.onError?.action === 'continue',
  defaultResults: step.defaultResults,
  work,
});
