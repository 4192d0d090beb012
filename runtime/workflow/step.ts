import type { Template } from '../templates/index.ts';
import type { ClientAnswer } from '../call/index.ts';
import type { Config } from '../config/index.ts';
import type { CancelSignal, Clock } from '../process/index.ts';
import type { Expand, TemplateData } from './expansion.ts';
import type { CompileSchema } from './json-schema.ts';
import type { ToolResult } from './tool-result.ts';
import type { ArgumentsPlan } from './expansion.ts';

export type WorkflowConfig = NonNullable<Config['compositeTools']>[number];
export type StepConfig = WorkflowConfig['steps'][number];

/** One type of step: what its fields mean. */
export interface StepType {
  /** Throws what says why the step cannot be run. */
  readonly plan: (step: StepConfig, compile: CompileSchema) => StepWork;
}

export interface StepWork {
  /** Templates whose references say what the step waits for. */
  readonly templates: readonly Template[];
  /** The tools that it calls, as `<workload>.<tool>`. */
  readonly tools: readonly string[];
  /** A failure of one part is told in the output, where the step goes on after failures. */
  readonly isolatesFailures?: true;
  /** Throws StepFailure, or VmcpError of a call. */
  readonly run: (context: StepContext) => Promise<StepOutcome>;
}

/** What a step works with. */
export interface StepContext {
  readonly id: string;
  readonly signal: CancelSignal;
  readonly clock: Clock;
  readonly expand: Expand;
  readonly data: TemplateData;
  /** Whether a failure shall not end the workflow. */
  readonly continues: boolean;
  readonly callTool: (tool: ToolCall, signal: CancelSignal) => Promise<ToolResult>;
  /** Undefined: the client will be asked, and answers with another request. */
  readonly ask: (question: ElicitationParams, signal: CancelSignal) => Promise<ClientAnswer | undefined>;
}

export interface ToolCall {
  /** `<workload>.<tool>` */
  readonly reference: string;
  readonly args: ArgumentsPlan;
  readonly data: TemplateData;
}

/** Params of `elicitation/create`, in its form that every revision knows (MCP 2025-06-18, "Elicitation"). */
export interface ElicitationParams {
  readonly message: string;
  readonly requestedSchema: Readonly<Record<string, unknown>>;
}

/** `ended`: the workflow ends here, with what there is. */
export type StepOutcome =
  | { readonly kind: 'completed' | 'ended'; readonly output: unknown; readonly result?: ToolResult }
  | { readonly kind: 'waiting'; readonly question: ElicitationParams };
