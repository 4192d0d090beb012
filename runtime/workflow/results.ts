import type { TemplateData } from './expansion.ts';
import type { PlannedStep, WorkflowPlan } from './plan.ts';
import { isObjectValue } from './values.ts';

/** What became of a step. All of it is JSON, as it may travel. */
export interface StepResult {
  readonly status: 'completed' | 'failed' | 'skipped';
  /** Absent: the step has given nothing. */
  readonly output?: unknown;
  /** Why it failed, for the client. */
  readonly error?: string;
  /** As in `ToolResult`. */
  readonly text?: string | undefined;
  /** Of the last step alone, where the workflow may pass it on: JSON text of the tool's whole result. */
  readonly whole?: string | undefined;
}

interface RunPlan extends Pick<WorkflowPlan, 'name'> {
  /** In order. */
  readonly steps: readonly Pick<PlannedStep, 'id'>[];
}

/** The results of a run so far, and what templates see of them. */
export class Results {
  readonly #plan: RunPlan;
  readonly #byId = new Map<string, StepResult>();
  readonly #steps: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly data: TemplateData;
  /** The last step, in order, that has given something. */
  #last: { readonly id: string; readonly result: StepResult; readonly whole: (() => string) | undefined } | undefined;

  constructor(plan: RunPlan, params: Readonly<Record<string, unknown>>) {
    this.#plan = plan;
    this.data = {
      __proto__: null,
      params,
      steps: this.#steps,
      workflow: { __proto__: null, name: plan.name },
      vars: {},
    };
  }

  get size(): number {
    return this.#byId.size;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Each step once. `whole`: as in `ToolResult`, where the workflow may pass it on. */
  set(id: string, { whole: carried, ...result }: StepResult, whole?: () => string): void {
    this.#byId.set(id, result);
    const { status, output, error } = result;
    if (output !== undefined && this.#isLast(id))
      this.#last = { id, result, whole: carried === undefined ? whole : () => carried };
    this.#steps[id] = { __proto__: null, status, output: shownOutput(result), ...(error !== undefined && { error }) };
  }

  entries(): readonly (readonly [string, StepResult])[] {
    const last = this.last();
    return [...this.#byId].map(([id, result]) => [id, last && id === this.#last?.id ? last : result]);
  }

  /** The result of the last step, in order, that has given something. */
  last(): StepResult | undefined {
    const last = this.#last;
    return last && { ...last.result, whole: last.whole?.() };
  }

  #isLast(id: string): boolean {
    const last = this.#last?.id;
    return this.#plan.steps.findLast((step) => step.id === id || step.id === last)?.id === id;
  }
}

/** Where the output was read from a text, the text has a name, too. */
const shownOutput = ({ output, text }: StepResult): unknown =>
  text !== undefined && isObjectValue(output) && !Object.hasOwn(output, 'text') ? { ...output, text } : output;
