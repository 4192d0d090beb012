import type { AroundStep, Call, Caller, Dispatch, NewInnerCall, Reply } from '../call/index.ts';
import type { LiveCatalog } from '../catalog/index.ts';
import type { ByteBudget, CancelSignal, Clock } from '../process/index.ts';
import { expander } from './expansion.ts';
import type { Execution, Executions } from './executions.ts';
import type { WorkflowPlan } from './plan.ts';
import { progressOf } from './progress.ts';
import { askerOf, attemptsLeft, refusedSoFar, type StepAnswers } from './questions.ts';
import { resultText } from './replies.ts';
import { Results } from './results.ts';
import { type Questions, type RunDeps, runWorkflow } from './run.ts';
import type { WaitingRun } from './states.ts';
import { stepCalls } from './step-calls.ts';
import { ownMember } from './values.ts';

/** A piece of an execution: from a request of the client until the workflow is over, or waits for its user. */
export interface Leg {
  /** The inner calls are calls of its caller, to its client. */
  readonly call: Call;
  readonly plan: WorkflowPlan;
  /** With defaults. */
  readonly params: Readonly<Record<string, unknown>>;
  /** What the execution has been so far; undefined: it begins. */
  readonly resumed: WaitingRun | undefined;
  readonly answers: StepAnswers;
  readonly signal: CancelSignal;
  /** When the execution began and has to end, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endsAt: number;
  readonly execution: Execution;
  /** As in `StepCallsDeps`. */
  readonly onAsk?: (() => void) | undefined;
}

export interface LegDeps {
  readonly clock: Clock;
  readonly steadyNow: () => number;
  readonly bytes: ByteBudget;
  readonly dispatch: Dispatch;
  readonly innerCall: NewInnerCall;
  readonly offeredTo: LiveCatalog['offeredTo'];
  readonly aroundStep: AroundStep;
  /** As in `OwnToolDeps`. */
  readonly currentCaller: (caller: Caller) => Caller;
}

/** The answer to a call that has failed. */
export type Refuse = (error: unknown, call: Call) => Reply;

export type LegEnd =
  | {
      readonly kind: 'over';
      /** JSON text of the result. */
      readonly result: string;
    }
  | { readonly kind: 'waits'; readonly questions: Questions; readonly run: WaitingRun };

export type LegOf = Omit<Leg, 'startedAt' | 'endsAt' | 'execution'>;

/** A leg of an execution that is listed from now on. */
export const legOf = (
  of: LegOf,
  { clock, executions }: { readonly clock: Clock; readonly executions: Executions },
): Leg => {
  const { plan, resumed } = of;
  const now = clock.now();
  const startedAt = resumed?.startedAt ?? now;
  const endsAt = resumed?.endsAt ?? now + plan.timeoutMs;
  return { ...of, startedAt, endsAt, execution: executions.begin(plan, { id: resumed?.executionId, startedAt }) };
};

/** Runs steps until the workflow is over, or waits for its user alone. Throws VmcpError. */
export const runLeg = async (leg: Leg, deps: LegDeps): Promise<LegEnd> => {
  const { execution } = leg;
  try {
    const end = await ran(leg, deps);
    if (end.kind === 'over') execution.answered();
    else execution.waits([...end.questions.keys()]);
    return end;
  } catch (error) {
    execution.failed(error);
    throw error;
  }
};

const ran = async (leg: Leg, deps: LegDeps): Promise<LegEnd> => {
  const { call, plan, params, resumed, answers, signal, endsAt, execution } = leg;
  const { clock, steadyNow, offeredTo, aroundStep } = deps;
  const results = resultsOf(plan, params, resumed);
  const expand = expander({ now: steadyNow });
  const calls = stepCalls({ ...deps, call, expand, onAsk: leg.onAsk, offered: () => offeredTo(call.caller) });
  const progress = progressOf(call, plan, results);
  try {
    const questions = await runWorkflow(
      { plan, results, remainingMs: Math.max(0, endsAt - clock.now()), signal },
      {
        clock,
        expand,
        callTool: calls.callTool,
        attemptsLeft: (step) => attemptsLeft(step, resumed),
        aroundStep: ({ id, type }, next) => aroundStep(call, { workflow: plan.name, id, type }, next),
        ask: watched(askerOf(call, { resumed, answers }, clock), execution),
        onStepBegun: (step) => execution.stepBegun(step),
        onStepEnded: (step, result) => {
          execution.stepEnded(step, result.status);
          progress(step, result);
        },
      },
    );
    if (questions.size === 0) return { kind: 'over', result: resultText(plan, results, expand) };
    return { kind: 'waits', questions, run: waitingRun(leg, questions, { results, now: clock.now() }) };
  } finally {
    calls.end();
  }
};

const watched =
  (ask: RunDeps['ask'], execution: Execution): RunDeps['ask'] =>
  async (step, question, signal) => {
    execution.asks(step.id, true);
    try {
      return await ask(step, question, signal);
    } finally {
      execution.asks(step.id, false);
    }
  };

const resultsOf = (plan: WorkflowPlan, params: Leg['params'], resumed: WaitingRun | undefined): Results => {
  const results = new Results(plan, params);
  for (const [id, result] of resumed?.results ?? []) results.set(id, result);
  return results;
};

const waitingRun = (
  { plan, resumed, answers, execution, startedAt, endsAt }: Leg,
  questions: Questions,
  { results, now }: { readonly results: Results; readonly now: number },
): WaitingRun => ({
  digest: plan.digest,
  executionId: execution.id,
  startedAt,
  endsAt,
  asked: Object.fromEntries([...questions.keys()].map((id) => [id, ownMember(resumed?.asked, id) ?? now])),
  refused: refusedSoFar([...questions.keys()], { resumed, answers }),
  results: results.entries(),
});
