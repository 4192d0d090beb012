import { argumentsOf, type Call, type Reply, type WorkflowTarget } from '../call/index.ts';
import type { OwnTool } from '../catalog/index.ts';
import type { Config, LiveConfig } from '../config/index.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Log, Meter } from '../observe/index.ts';
import { ByteBudget, type Clock } from '../process/index.ts';
import type { Store } from '../store/index.ts';
import { Executions } from './executions.ts';
import { type Leg, type LegEnd, legOf, runLeg } from './leg.ts';
import { ownToolOf } from './own-tools.ts';
import { planWorkflows, type WorkflowPlan } from './plan.ts';
import { answersTo, asksLater, demandAnswers, type StepAnswers } from './questions.ts';
import { replied, waitingReply } from './replies.ts';
import { type WaitingRuns, waitingRuns } from './states.ts';
import { mayBecomeTask, type TaskDeps, Tasks } from './tasks.ts';
import { isObjectValue } from './values.ts';

export interface WorkflowDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  /** Milliseconds since some moment, for durations. */
  readonly steadyNow: () => number;
  readonly meter: Meter;
  readonly store: Store;
  readonly entropy: (bytes: number) => Buffer;
  readonly log: Pick<Log, 'warn'>;
  /** Registers what is done before the store is closed. */
  readonly onStop: (close: () => Promise<void>) => void;
}

/** What the inner calls of a workflow go through, and how a task answers for one that has failed. */
export type ServeDeps = Pick<
  TaskDeps,
  'aroundStep' | 'currentCaller' | 'dispatch' | 'innerCall' | 'offeredTo' | 'refuse'
>;

/** The composite tools of the configuration. */
export interface Workflows {
  readonly all: () => readonly OwnTool<WorkflowTarget>[];
  readonly onChange: (listener: () => void) => void;
  readonly serve: (call: Call, target: WorkflowTarget, deps: ServeDeps) => Promise<Reply>;
  readonly executions: Pick<Executions, 'newestFirst'>;
  /** Resolves once the workflows that run as tasks have ended, or wait for their users. */
  readonly tasksIdle: () => Promise<void>;
}

export const workflows = (deps: WorkflowDeps): Workflows => {
  const { config } = deps;
  const plans = config.live(({ compositeTools }: Config) => compositeTools, planWorkflows);
  const tools = toolsOf(plans);
  const executions = new Executions(deps);
  const tasks = new Tasks({ ...deps, executions, planOf: (workflow) => plans().get(workflow) });
  deps.onStop(() => tasks.stop());
  const parts: Parts = {
    ...deps,
    executions,
    tasks,
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
    serve: async (call, target, serving) => {
      if (call.names === 'task') return tasks.answer(call, target, { ...parts, ...serving });
      const plan = plans().get(target.workflow);
      if (!plan) throw new VmcpError('unknown_name', 'unknown tool');
      return served({ call, plan }, { ...parts, ...serving });
    },
    executions,
    tasksIdle: () => tasks.idle(),
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
  readonly tasks: Tasks;
  readonly waiting: WaitingRuns;
  readonly bytes: ByteBudget;
}

interface Asked {
  readonly call: Call;
  readonly plan: WorkflowPlan;
}

const served = async ({ call, plan }: Asked, parts: Parts & ServeDeps): Promise<Reply> => {
  const { waiting, clock, executions, tasks } = parts;
  const params = paramsOf(call, plan);
  const otherwise = (leg: Leg, end: LegEnd): Promise<Reply> => plainReply(leg, end, waiting);
  const common = { call, plan, params, signal: call.signal };
  if (mayBecomeTask(call)) return tasks.begin({ ...common, resumed: undefined, answers: NONE }, parts, otherwise);
  const { state, answers: given } = call.answered ?? {};
  // Before the state is opened, which is good for one request.
  if (given) demandAnswers(given);
  const resumed = state === undefined ? undefined : await waiting.open(call, state, plan.digest);
  const asked = Object.keys(resumed?.asked ?? {}).map((step) => [step, step] as const);
  const answers = asksLater(call) ? answersTo(call, new Map(asked)) : NONE;
  const leg = legOf({ ...common, resumed, answers }, { clock, executions });
  return otherwise(leg, await runLeg(leg, parts));
};

const NONE: StepAnswers = new Map();

/** The answer where the client has no task: it goes on itself with a workflow that waits. */
const plainReply = async ({ call, execution }: Leg, end: LegEnd, waiting: WaitingRuns): Promise<Reply> => {
  if (end.kind === 'over') return replied(call, end.result);
  try {
    return waitingReply(call, end.questions, await waiting.keep(call, end.run));
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
