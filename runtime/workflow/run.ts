import type { Call, ClientAnswer, StepState } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { type CancelSignal, Cancellation, type Clock, untilAborted } from '../process/index.ts';
import { attempted, type Attempts, timedOut } from './attempt.ts';
import { type Expand, isTrue } from './expansion.ts';
import { asStepFailure, type StepFailure, workflowError } from './failure.ts';
import type { PlannedStep, WorkflowPlan } from './plan.ts';
import type { Results, StepResult } from './results.ts';
import { cancellable, within } from './scope.ts';
import type { StepCalls } from './step-calls.ts';
import type { ElicitationParams, StepContext, StepOutcome } from './step.ts';
import type { ToolResult } from './tool-result.ts';

export interface RunDeps {
  readonly clock: Clock;
  readonly expand: Expand;
  readonly callTool: StepCalls['callTool'];
  /** What is left of the attempts of a step. */
  readonly attemptsLeft: (step: PlannedStep) => Attempts;
  /** Wraps each step that runs. */
  readonly aroundStep: (step: PlannedStep, next: (call: Call) => Promise<Performed>) => Promise<Performed>;
  /** Undefined: the client will be asked once nothing else can go on. */
  readonly ask: (
    step: PlannedStep,
    question: ElicitationParams,
    signal: CancelSignal,
  ) => Promise<ClientAnswer | undefined>;
  readonly onStepBegun: (step: PlannedStep) => void;
  readonly onStepEnded: (step: PlannedStep, result: StepResult) => void;
}

export interface RunOptions {
  readonly plan: WorkflowPlan;
  /** Of steps that have ended already; those of the run are added. */
  readonly results: Results;
  /** Time that is left. */
  readonly remainingMs: number;
  readonly signal: CancelSignal;
}

/** The questions that the run waits for, by step; none: the run is over. */
export type Questions = ReadonlyMap<string, ElicitationParams>;

/** Runs the steps of a workflow that have not ended. Throws VmcpError. */
export const runWorkflow = ({ plan, results, remainingMs, signal }: RunOptions, deps: RunDeps): Promise<Questions> =>
  within(signal, (own) => {
    const run = new Run({ plan, results, scope: own }, deps);
    const timer = deps.clock.after(remainingMs, () => run.fail(timeIsUp(plan)));
    return run.start().finally(() => timer.cancel());
  });

export const timeIsUp = ({ name, timeoutMs }: Pick<WorkflowPlan, 'name' | 'timeoutMs'>): VmcpError =>
  new VmcpError('workflow_failed', `"${name}" ended: ${timedOut(timeoutMs).message}`, { data: { workflow: name } });

interface RunParts {
  readonly plan: WorkflowPlan;
  readonly results: Results;
  readonly scope: Cancellation;
}

/** Starts each step as soon as those that it waits for have ended, until none is left or one ends the workflow. */
class Run {
  readonly #plan: WorkflowPlan;
  readonly #results: Results;
  readonly #scope: Cancellation;
  readonly #deps: RunDeps;
  readonly #begun = new Set<string>();
  readonly #questions = new Map<string, ElicitationParams>();
  readonly #over = Promise.withResolvers<Questions>();
  /** Aborted once the remaining steps are skipped: their questions are withdrawn. */
  readonly #asking = new Cancellation();
  /** The remaining steps are skipped. */
  #isEnding = false;

  constructor({ plan, results, scope }: RunParts, deps: RunDeps) {
    this.#plan = plan;
    this.#results = results;
    this.#scope = scope;
    this.#deps = deps;
  }

  start(): Promise<Questions> {
    const gone = (): void => this.#over.reject(this.#scope.reason);
    this.#scope.addEventListener('abort', gone);
    this.#advance();
    return this.#over.promise;
  }

  /** Ends the workflow: what is under way is cancelled. */
  fail(error: VmcpError): void {
    this.#over.reject(error);
    this.#scope.abort(new VmcpError('cancelled', 'the workflow has ended'));
  }

  #advance(): void {
    // In order: what a skipped step makes ready comes after it.
    for (const step of this.#plan.steps) {
      if (this.#scope.aborted) return;
      if (this.#begun.has(step.id) || this.#results.has(step.id) || !this.#isReady(step)) continue;
      if (this.#isEnding) this.#skip(step);
      else this.#begin(step);
    }
    if (this.#begun.size === this.#questions.size) this.#over.resolve(this.#questions);
  }

  #isReady({ waitsFor }: PlannedStep): boolean {
    for (const id of waitsFor) if (!this.#results.has(id)) return false;
    return true;
  }

  #begin(step: PlannedStep): void {
    this.#begun.add(step.id);
    this.#deps.onStepBegun(step);
    this.#deps
      .aroundStep(step, async (call) => {
        // A call that is cancelled goes on for its backend's last answer; the step does not.
        const outcome = await untilAborted(this.#scope, performed(step, this.#contextOf(step, call)));
        return { state: stateOf(outcome), outcome };
      })
      .then(
        ({ outcome }) => this.#take(step, outcome),
        (error: unknown) => this.#abort(step, error instanceof VmcpError ? error : internal(error)),
      );
  }

  /** The first step that fails ends the workflow; those that are cancelled with it say nothing. */
  #abort(step: PlannedStep, error: VmcpError): void {
    if (this.#scope.aborted) return;
    this.#deps.onStepEnded(step, { status: 'failed' });
    this.fail(error);
  }

  #take(step: PlannedStep, outcome: StepResult | StepOutcome): void {
    if (this.#scope.aborted) return;
    if ('status' in outcome) this.#end(step, outcome);
    else if (outcome.kind === 'waiting') this.#wait(step, outcome.question);
    else {
      const { kind, output, result } = outcome;
      // Only without an output of its own does the workflow pass on what a tool gave.
      const whole = this.#plan.output ? undefined : result?.whole;
      this.#end(step, { status: 'completed', output, text: result?.text }, whole);
      if (kind === 'ended') this.#skipRemaining();
    }
    this.#advance();
  }

  #wait(step: PlannedStep, question: ElicitationParams): void {
    if (this.#isEnding) this.#skip(step);
    else this.#questions.set(step.id, question);
  }

  /** Calls under way go on to their end; what is asked is not asked any more. */
  #skipRemaining(): void {
    this.#isEnding = true;
    this.#asking.abort(withdrawn());
    for (const step of this.#plan.steps) if (this.#questions.delete(step.id)) this.#skip(step);
  }

  #skip(step: PlannedStep): void {
    this.#end(step, { status: 'skipped', output: step.defaultResults });
  }

  /** Undefined, too, where the question is withdrawn before its answer. */
  async #ask(step: PlannedStep, question: ElicitationParams, signal: CancelSignal): Promise<ClientAnswer | undefined> {
    if (this.#isEnding) return undefined;
    const own = cancellable(signal);
    const withdraw = (): void => own.abort(withdrawn());
    this.#asking.addEventListener('abort', withdraw);
    try {
      return await this.#deps.ask(step, question, own);
    } catch (error) {
      if (this.#isEnding && !signal.aborted) return undefined;
      throw error;
    } finally {
      this.#asking.removeEventListener('abort', withdraw);
      own.end();
    }
  }

  #end(step: PlannedStep, result: StepResult, whole?: ToolResult['whole']): void {
    this.#begun.delete(step.id);
    this.#results.set(step.id, result, whole);
    this.#deps.onStepEnded(step, result);
  }

  #contextOf(step: PlannedStep, call: Call): PerformDeps {
    const { clock, expand, callTool, attemptsLeft } = this.#deps;
    return {
      workflow: this.#plan.name,
      id: step.id,
      signal: this.#scope,
      clock,
      expand,
      data: this.#results.data,
      continues: step.continues,
      callTool: (tool, signal) => callTool(call, tool, signal),
      attempts: attemptsLeft(step),
      ask: (question, signal) => this.#ask(step, question, signal),
    };
  }
}

/** What became of a step that has run. */
interface Performed {
  readonly state: StepState;
  readonly outcome: StepResult | StepOutcome;
}

const stateOf = (outcome: StepResult | StepOutcome): StepState => {
  if ('status' in outcome) return outcome.status;
  return outcome.kind === 'waiting' ? 'waiting' : 'completed';
};

const withdrawn = (): VmcpError => new VmcpError('cancelled', 'the remaining steps are skipped');

const internal = (cause: unknown): VmcpError => new VmcpError('internal', 'internal error', { cause });

interface PerformDeps extends StepContext {
  readonly workflow: string;
  readonly attempts: Attempts;
}

/** Throws the error that ends the workflow. */
const performed = async (step: PlannedStep, context: PerformDeps): Promise<StepResult | StepOutcome> => {
  const { condition, defaultResults, work } = step;
  const { expand, data, signal, workflow, attempts } = context;
  try {
    if (condition && !isTrue(expand(condition, data))) return { status: 'skipped', output: defaultResults };
    return await attempted(attempts, context, (own) => work.run({ ...context, signal: own }));
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const failure: StepFailure = asStepFailure(thrown);
    if (!step.continues) throw workflowError(workflow, step.id, failure);
    return { status: 'failed', output: defaultResults, error: failure.message };
  }
};
