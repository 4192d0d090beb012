import {
  argumentsOf,
  type AroundStep,
  type Call,
  type Dispatch,
  type NewInnerCall,
  type Reply,
  type WorkflowTarget,
} from '../call/index.ts';
import type { LiveCatalog, OwnTool } from '../catalog/index.ts';
import type { Config, LiveConfig } from '../config/index.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Meter } from '../observe/index.ts';
import { ByteBudget, type Clock } from '../process/index.ts';
import type { Store } from '../store/index.ts';
import { expander } from './expansion.ts';
import { type Execution, Executions } from './executions.ts';
import { ownToolOf } from './own-tools.ts';
import { planWorkflows, type WorkflowPlan } from './plan.ts';
import { progressOf } from './progress.ts';
import { askerOf } from './questions.ts';
import { resultReply, waitingReply } from './replies.ts';
import { Results } from './results.ts';
import { runWorkflow } from './run.ts';
import { type WaitingRun, type WaitingRuns, waitingRuns } from './states.ts';
import { stepCalls } from './step-calls.ts';
import { isObjectValue } from './values.ts';

export interface WorkflowDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  /** Milliseconds since some moment, for durations. */
  readonly steadyNow: () => number;
  readonly meter: Meter;
  readonly store: Store;
  readonly entropy: (bytes: number) => Buffer;
}

/** What the inner calls of a workflow go through. */
export interface ServeDeps {
  readonly dispatch: Dispatch;
  readonly innerCall: NewInnerCall;
  readonly offeredTo: LiveCatalog['offeredTo'];
  readonly aroundStep: AroundStep;
}

/** The composite tools of the configuration. */
export interface Workflows {
  readonly all: () => readonly OwnTool<WorkflowTarget>[];
  readonly onChange: (listener: () => void) => void;
  readonly serve: (call: Call, target: WorkflowTarget, deps: ServeDeps) => Promise<Reply>;
  readonly executions: Pick<Executions, 'newestFirst'>;
}

export const workflows = (deps: WorkflowDeps): Workflows => {
  const { config } = deps;
  const plans = config.live(({ compositeTools }: Config) => compositeTools, planWorkflows);
  const tools = toolsOf(plans);
  const executions = new Executions(deps);
  const parts: Parts = {
    ...deps,
    executions,
    waiting: waitingRuns(deps),
    bytes: new ByteBudget(LIMITS.workflowBytesTogether),
  };
  return {
    all: tools,
    onChange: (listener) =>
      config.onReload(() => {
        const before = plans();
        return () => {
          if (plans() !== before) listener();
        };
      }),
    serve: async (call, { workflow }, serving) => {
      const plan = plans().get(workflow);
      if (!plan) throw new VmcpError('unknown_name', 'unknown tool');
      return served({ call, plan }, { ...parts, ...serving });
    },
    executions,
  };
};

/** The same array as long as the workflows are the same. */
const toolsOf = (plans: () => ReadonlyMap<string, WorkflowPlan>): Workflows['all'] => {
  let of: ReadonlyMap<string, WorkflowPlan> | undefined;
  let tools: readonly OwnTool<WorkflowTarget>[] = [];
  return () => {
    const current = plans();
    if (current !== of) [of, tools] = [current, [...current.values()].map(ownToolOf)];
    return tools;
  };
};

interface Parts extends Omit<WorkflowDeps, 'config'> {
  readonly executions: Executions;
  readonly waiting: WaitingRuns;
  readonly bytes: ByteBudget;
}

interface Asked {
  readonly call: Call;
  readonly plan: WorkflowPlan;
}

const served = async ({ call, plan }: Asked, parts: Parts & ServeDeps): Promise<Reply> => {
  const { waiting, executions, clock } = parts;
  const params = paramsOf(call, plan);
  const state = call.answered?.state;
  const resumed = state === undefined ? undefined : await waiting.open(call, state, plan.digest);
  const now = clock.now();
  const started = { startedAt: resumed?.startedAt ?? now, endsAt: resumed?.endsAt ?? now + plan.timeoutMs };
  const execution = executions.begin(plan, { id: resumed?.executionId, startedAt: started.startedAt });
  const results = resultsOf(plan, params, resumed);
  try {
    const reply = await ran({ call, plan, results, resumed, execution, ...started }, parts);
    execution.answered();
    return reply;
  } catch (error) {
    execution.failed(error);
    throw error;
  }
};

const NO_ARGUMENTS = Buffer.from('{}');

/** Throws `invalid_arguments`. */
const paramsOf = ({ request, name }: Call, plan: WorkflowPlan): Readonly<Record<string, unknown>> => {
  const given = argumentsOf(request) ?? NO_ARGUMENTS;
  const params: unknown = JSON.parse(given.toString());
  const issues = isObjectValue(params) ? plan.check(params, given.length) : [{ path: '', message: 'must be object' }];
  if (isObjectValue(params) && issues.length === 0) return params;
  const words = issues.map(({ path, message }) => `${path === '' ? 'they' : path} ${message}`).join('; ');
  throw new VmcpError('invalid_arguments', `the arguments of "${name}" are not valid: ${words}`, { data: { issues } });
};

const resultsOf = (
  plan: WorkflowPlan,
  params: Readonly<Record<string, unknown>>,
  resumed: WaitingRun | undefined,
): Results => {
  const results = new Results(plan, params);
  for (const [id, result] of resumed?.results ?? []) results.set(id, result);
  return results;
};

interface Running extends Asked {
  readonly results: Results;
  readonly resumed: WaitingRun | undefined;
  readonly execution: Execution;
  readonly startedAt: number;
  readonly endsAt: number;
}

const ran = async (running: Running, parts: Parts & ServeDeps): Promise<Reply> => {
  const { call, plan, results, resumed, execution, endsAt } = running;
  const { clock, steadyNow, bytes, offeredTo, aroundStep } = parts;
  const expand = expander({ now: steadyNow });
  const calls = stepCalls({ ...parts, call, expand, bytes, offered: () => offeredTo(call.caller) });
  const progress = progressOf(call, plan, results);
  try {
    const questions = await runWorkflow(
      { plan, results, remainingMs: Math.max(0, endsAt - clock.now()), signal: call.signal },
      {
        clock,
        expand,
        callTool: calls.callTool,
        aroundStep: ({ id, type }, next) => aroundStep(call, { workflow: plan.name, id, type }, next),
        ask: askerOf(call, resumed, clock),
        onStepBegun: (step) => execution.stepBegun(step),
        onStepEnded: (step, result) => {
          execution.stepEnded(step, result.status);
          progress(step, result);
        },
      },
    );
    if (questions.size === 0) return resultReply(call, plan, results, expand);
    const asked = Object.fromEntries([...questions.keys()].map((id) => [id, resumed?.asked[id] ?? clock.now()]));
    const { startedAt } = running;
    const kept = { digest: plan.digest, executionId: execution.id, startedAt, endsAt, asked };
    const state = await parts.waiting.keep(call, { ...kept, results: results.entries() });
    execution.waits([...questions.keys()]);
    return waitingReply(call, questions, state);
  } finally {
    calls.end();
  }
};
