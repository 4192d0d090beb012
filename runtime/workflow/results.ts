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
  readonly whole?: string | undefined;
}

/** The results of a run so far, and what templates see of them. */
export class Results {
  readonly #byId = new Map<string, StepResult>();
  readonly #steps: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly data: TemplateData;

  constructor(plan: Pick<WorkflowPlan, 'name'>, params: Readonly<Record<string, unknown>>) {
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

  set(id: string, result: StepResult): void {
    this.#byId.set(id, result);
    const { status, error } = result;
    this.#steps[id] = { __proto__: null, status, output: shownOutput(result), ...(error !== undefined && { error }) };
  }

  entries(): readonly (readonly [string, StepResult])[] {
    return [...this.#byId];
  }

  /** The result of the last step that has given something; `steps` are in order. */
  last(steps: readonly PlannedStep[]): StepResult | undefined {
    return steps.map(({ id }) => this.#byId.get(id)).findLast((result) => result?.output !== undefined);
  }
}

/** Where the output was read from a text, the text has a name, too. */
const shownOutput = ({ output, text }: StepResult): unknown =>
  text !== undefined && isObjectValue(output) && !Object.hasOwn(output, 'text') ? { ...output, text } : output;
