import { asVmcpError, type ErrorCode } from '../errors.ts';
import type { Meter } from '../observe/index.ts';
import type { Clock } from '../process/index.ts';
import { type WorkflowMetrics, workflowMetrics } from './metrics.ts';
import type { PlannedStep, WorkflowPlan } from './plan.ts';
import type { StepResult } from './results.ts';

/** One run of a workflow, for who runs the server: names, times and outcomes, and nothing that a caller has sent. */
export interface ExecutionReport {
  readonly id: string;
  readonly workflow: string;
  /** `waiting`: the client has been asked, and may go on at any replica. */
  readonly state: 'running' | 'waiting' | 'completed' | 'failed';
  /** RFC 3339. */
  readonly startedAt: string;
  /** Of what has ended here. */
  readonly durationMs?: number;
  /** The code of the error that has ended it. */
  readonly error?: ErrorCode;
  readonly steps: readonly StepReport[];
}

export interface StepReport {
  readonly id: string;
  readonly type: PlannedStep['type'];
  /** `cancelled`: under way, or waiting, when the workflow ended. */
  readonly state: 'running' | 'waiting' | 'cancelled' | StepResult['status'];
  readonly durationMs?: number;
}

/** What a run tells of itself. */
export interface Execution {
  readonly id: string;
  readonly stepBegun: (step: PlannedStep) => void;
  readonly stepEnded: (step: PlannedStep, status: StepResult['status']) => void;
  /** Whether the step waits for the client's user, within a call of the client. */
  readonly asks: (step: string, isAsking: boolean) => void;
  readonly waits: (steps: readonly string[]) => void;
  readonly answered: () => void;
  readonly failed: (error: unknown) => void;
}

export interface ExecutionsDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly steadyNow: () => number;
  readonly meter: Meter;
  readonly entropy: (bytes: number) => Buffer;
}

/** Executions that are kept. */
const MOST_KEPT = 100;
/** Steps of each that are kept. */
const MOST_STEPS = 100;
const ID_BYTES = 12;

/** The newest executions of this process. */
export class Executions {
  readonly #deps: ExecutionsDeps;
  readonly #metrics: WorkflowMetrics;
  /** Oldest first. */
  readonly #kept = new Map<string, Seen>();

  constructor(deps: ExecutionsDeps) {
    this.#deps = deps;
    this.#metrics = workflowMetrics(deps.meter);
  }

  /** `id`: that of an execution that goes on. */
  begin(
    { name }: Pick<WorkflowPlan, 'name'>,
    { id, startedAt }: { readonly id: string | undefined; readonly startedAt: number },
  ): Execution {
    const { steadyNow, entropy } = this.#deps;
    const key = id ?? entropy(ID_BYTES).toString('base64url');
    const seen = new Seen(
      { id: key, workflow: name, startedAt },
      { steadyNow, metrics: this.#metrics },
      this.#kept.get(key),
    );
    this.#kept.delete(key);
    this.#kept.set(key, seen);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return seen;
  }

  /** An execution that waits is given up, for this reason; one that this process does not list stays so. */
  giveUp(id: string, error: unknown): void {
    this.#kept.get(id)?.giveUp(error);
  }

  newestFirst(): readonly ExecutionReport[] {
    return [...this.#kept.values()].map((seen) => seen.report()).toReversed();
  }
}

interface SeenDeps {
  readonly steadyNow: () => number;
  readonly metrics: WorkflowMetrics;
}

interface SeenStep {
  readonly type: PlannedStep['type'];
  readonly begunAt: number;
  state: StepReport['state'];
  durationMs?: number;
}

const isUnderWay = ({ state }: SeenStep): boolean => state === 'running' || state === 'waiting';

class Seen implements Execution {
  readonly id: string;
  readonly #workflow: string;
  readonly #startedAt: number;
  readonly #begunAt: number;
  readonly #deps: SeenDeps;
  readonly #steps: Map<string, SeenStep>;
  #state: ExecutionReport['state'] = 'running';
  #durationMs: number | undefined;
  #error: ErrorCode | undefined;

  constructor(
    { id, workflow, startedAt }: { readonly id: string; readonly workflow: string; readonly startedAt: number },
    deps: SeenDeps,
    before: Seen | undefined,
  ) {
    this.id = id;
    this.#workflow = workflow;
    this.#startedAt = startedAt;
    this.#deps = deps;
    this.#begunAt = deps.steadyNow();
    this.#steps = new Map(
      before
        ?.report()
        .steps.map(({ id: step, type, state, ...more }) => [step, { type, state, begunAt: this.#begunAt, ...more }]),
    );
  }

  stepBegun({ id, type }: PlannedStep): void {
    if (this.#steps.size < MOST_STEPS || this.#steps.has(id))
      this.#steps.set(id, { type, state: 'running', begunAt: this.#deps.steadyNow() });
  }

  stepEnded({ id, type }: PlannedStep, status: StepResult['status']): void {
    const now = this.#deps.steadyNow();
    const step = this.#steps.get(id) ?? { type, state: status, begunAt: now };
    step.state = status;
    step.durationMs = Math.round(now - step.begunAt);
    if (this.#steps.size < MOST_STEPS) this.#steps.set(id, step);
    this.#deps.metrics.stepEnded({ type, status, ms: now - step.begunAt });
  }

  asks(id: string, isAsking: boolean): void {
    const step = this.#steps.get(id);
    if (step && isUnderWay(step)) step.state = isAsking ? 'waiting' : 'running';
  }

  waits(steps: readonly string[]): void {
    this.#state = 'waiting';
    for (const id of steps) {
      const step = this.#steps.get(id);
      if (step) step.state = 'waiting';
    }
    this.#ended('waiting');
  }

  answered(): void {
    if (this.#state === 'waiting') return;
    this.#state = 'completed';
    this.#ended('completed');
  }

  failed(error: unknown): void {
    this.#state = 'failed';
    this.#error = asVmcpError(error).code;
    for (const step of this.#steps.values()) if (isUnderWay(step)) step.state = 'cancelled';
    this.#ended('failed');
  }

  /** Its last leg has been counted when it began to wait. */
  giveUp(error: unknown): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'failed';
    this.#error = asVmcpError(error).code;
    for (const step of this.#steps.values()) if (step.state === 'waiting') step.state = 'cancelled';
  }

  #ended(outcome: 'waiting' | 'completed' | 'failed'): void {
    this.#durationMs = this.#deps.steadyNow() - this.#begunAt;
    this.#deps.metrics.ended({ workflow: this.#workflow, outcome, ms: this.#durationMs });
  }

  report(): ExecutionReport {
    const [durationMs, error] = [this.#durationMs, this.#error];
    return {
      id: this.id,
      workflow: this.#workflow,
      state: this.#state,
      startedAt: new Date(this.#startedAt).toISOString(),
      ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }),
      ...(error !== undefined && { error }),
      steps: [...this.#steps].map(([id, { type, state, durationMs: ms }]) => ({
        id,
        type,
        state,
        ...(ms !== undefined && { durationMs: ms }),
      })),
    };
  }
}
