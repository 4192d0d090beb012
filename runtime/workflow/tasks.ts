import { type Call, readWorkflowTaskId, type Reply, type WorkflowTarget } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { supportsTasks } from '../mcp/index.ts';
import type { Log, Meter } from '../observe/index.ts';
import { type Clock, sleep } from '../process/index.ts';
import type { Store } from '../store/index.ts';
import type { Executions } from './executions.ts';
import { type Leg, legOf, type LegDeps, type LegEnd, type LegOf, type Refuse, runLeg } from './leg.ts';
import type { WorkflowPlan } from './plan.ts';
import { answersTo, asksLater } from './questions.ts';
import { replied } from './replies.ts';
import { timeIsUp } from './run.ts';
import { NOTHING_ASKED, RunningTasks, waitingOf } from './running-tasks.ts';
import { cancellable } from './scope.ts';
import { type TaskOwners, taskOwners } from './task-owners.ts';
import { type KeptTask, type TaskRecords, taskRecords, type TaskRef } from './task-records.ts';
import { acknowledged, createdReply, endedBy, taskEnded, taskReply, unknownTask } from './task-replies.ts';

export interface TasksDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
  readonly log: Pick<Log, 'warn'>;
  readonly meter: Meter;
  readonly executions: Executions;
  readonly planOf: (workflow: string) => WorkflowPlan | undefined;
}

export interface TaskDeps extends LegDeps {
  readonly refuse: Refuse;
}

/** How long a workflow may run before its call is answered with a task: docs/composite-tools.md "As a task". */
const TASK_AFTER_MS = 10_000;

/** Whether a call may be answered with a task. */
export const mayBecomeTask = (call: Call): boolean =>
  asksLater(call) && call.answered?.state === undefined && supportsTasks(call.client.capabilities);

/** Workflows that their clients look after as tasks (extension `io.modelcontextprotocol/tasks`). */
export class Tasks {
  readonly #deps: TasksDeps;
  readonly #records: TaskRecords;
  readonly #owners: TaskOwners;
  readonly #running: RunningTasks;

  constructor(deps: TasksDeps) {
    this.#deps = deps;
    this.#records = taskRecords(deps);
    this.#owners = taskOwners({ ...deps, onCancel: (secret) => this.#running.cancel(secret) });
    this.#running = new RunningTasks({ ...deps, records: this.#records, owners: this.#owners });
  }

  /**
   * Runs a workflow, and answers with its result; with a task once it has run for 10 s, or asks. `otherwise` answers
   * where no task can be kept.
   */
  async begin(of: LegOf, deps: TaskDeps, otherwise: (leg: Leg, end: LegEnd) => Promise<Reply>): Promise<Reply> {
    const { call } = of;
    const scope = cancellable(call.signal);
    const asking = new Asking();
    const leg = legOf({ ...of, signal: scope, onAsk: () => asking.ask() }, { ...this.#deps, clock: deps.clock });
    const ended = runLeg(leg, deps).finally(() => scope.end());
    const first = await endWithin(TASK_AFTER_MS, ended, deps.clock);
    if (first?.kind === 'over') return replied(call, first.result);
    const created = first || asking.close() ? await this.#created(leg, first) : undefined;
    if (!created) {
      asking.open();
      return otherwise(leg, first ?? (await ended));
    }
    const { ref, kept } = created;
    if (!first) this.#running.add({ ref, kept, leg, scope, ended, before: NOTHING_ASKED, refuse: deps.refuse });
    return createdReply(call, ref, kept.record);
  }

  async #created(leg: Leg, end: LegEnd | undefined): ReturnType<TaskRecords['create']> {
    try {
      return await this.#create(leg, end);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'a workflow cannot become a task: its client waits for the result');
      return undefined;
    }
  }

  /** Undefined: there is no room for one more. Throws what the store throws. */
  async #create(leg: Leg, end: LegEnd | undefined): ReturnType<TaskRecords['create']> {
    const { call, plan, params, endsAt } = leg;
    const now = this.#deps.clock.now();
    const common = { createdAt: now, updatedAt: now, endsAt, params };
    const of = { caller: call.caller, workflow: plan.name };
    if (end?.kind === 'waits') return this.#records.create(of, { ...common, state: waitingOf(end, NOTHING_ASKED) });
    if (!this.#running.hasRoom(call.caller)) return undefined;
    await this.#owners.enter();
    const created = await this.#records
      .create(of, { ...common, state: { kind: 'working', owner: this.#owners.own, asked: 0 } })
      .catch((error: unknown) => {
        this.#owners.leave();
        throw error;
      });
    if (!created) this.#owners.leave();
    return created;
  }

  /** Answers `tasks/get`, `tasks/update` and `tasks/cancel`. Throws `unknown_name`, and what the store throws. */
  async answer(call: Call, { workflow }: WorkflowTarget, deps: TaskDeps): Promise<Reply> {
    const name = readWorkflowTaskId(call.name);
    if (!name) throw unknownTask();
    const ref = { caller: call.caller, workflow, secret: name.secret };
    const read = await this.#records.read(ref);
    if (!read) throw unknownTask();
    const kept = await this.#current(ref, read, { call, refuse: deps.refuse });
    if (call.method === 'tasks/get') return taskReply(call, ref, kept.record);
    if (call.method === 'tasks/cancel') await this.#cancel(ref, kept);
    else await this.#update(ref, kept, { call, deps });
    return acknowledged(call);
  }

  /** A task whose time is over, or whose process has died, has ended, though no process has said so. */
  async #current(ref: TaskRef, kept: KeptTask, of: { call: Call; refuse: Refuse }): Promise<KeptTask> {
    const { state, endsAt } = kept.record;
    const plan = this.#deps.planOf(ref.workflow);
    let error: VmcpError | undefined;
    if (state.kind === 'waiting') {
      if (!plan || plan.digest !== state.run.digest) error = taskEnded(ref, 'the workflow has been changed meanwhile');
      else if (this.#deps.clock.now() >= endsAt) error = timeIsUp(plan);
    } else if (state.kind === 'working' && !(await this.#owners.isAlive(state.owner)))
      error = taskEnded(ref, 'the process that ran it has ended; what its steps have done is not undone');
    if (!error) return kept;
    const replaced = await this.#records.replace(ref, kept, endedBy(error, of.call, of.refuse));
    return replaced ?? (await this.#records.read(ref)) ?? kept;
  }

  async #cancel(ref: TaskRef, kept: KeptTask): Promise<void> {
    const { state } = kept.record;
    if (state.kind === 'ended') return;
    const message = 'it was cancelled';
    await this.#records.replace(ref, kept, { kind: 'ended', status: 'cancelled', message });
    if (state.kind !== 'working') return;
    if (state.owner === this.#owners.own) this.#running.cancel(ref.secret);
    else await this.#owners.cancelAt(state.owner, ref.secret);
  }

  /** Of concurrent updates, one goes on with the workflow. Answers to what was not asked are ignored. */
  async #update(ref: TaskRef, kept: KeptTask, { call, deps }: { call: Call; deps: TaskDeps }): Promise<void> {
    const { state } = kept.record;
    const plan = this.#deps.planOf(ref.workflow);
    if (state.kind !== 'waiting' || !plan) return;
    const { requests, asked, run } = state;
    const answers = answersTo(call, new Map(Object.entries(requests).map(([key, { step }]) => [key, step])));
    if (answers.size === 0) return;
    if (!this.#running.hasRoom(ref.caller)) throw new VmcpError('busy', 'too many tasks run; try again later');
    await this.#owners.enter();
    const claimed = await this.#claim(ref, kept, asked);
    if (!claimed) return this.#owners.leave();
    const scope = cancellable(call.signal);
    const of = {
      call,
      plan,
      params: claimed.record.params,
      resumed: run,
      answers,
      signal: scope,
      onAsk: refuseQuestion,
    };
    const leg = legOf(of, { ...this.#deps, clock: deps.clock });
    const going = runLeg(leg, deps).finally(() => scope.end());
    const before = { requests, answers, asked };
    this.#running.add({ ref, kept: claimed, leg, scope, ended: going, before, refuse: deps.refuse });
  }

  stop(): Promise<void> {
    return this.#running.stop();
  }

  async #claim(ref: TaskRef, kept: KeptTask, asked: number): Promise<KeptTask | undefined> {
    try {
      return await this.#records.replace(ref, kept, { kind: 'working', owner: this.#owners.own, asked });
    } catch (error) {
      this.#owners.leave();
      throw error;
    }
  }
}

/** Questions of tools go to the request of the client that waits, and so to none of a task. */
class Asking {
  #hasAsked = false;
  #isClosed = false;

  /** Throws `client_cannot_answer`. */
  ask(): void {
    if (this.#isClosed) refuseQuestion();
    this.#hasAsked = true;
  }

  /** False: a tool has asked already, and its call is one that waits for answers. */
  close(): boolean {
    this.#isClosed = !this.#hasAsked;
    return this.#isClosed;
  }

  open(): void {
    this.#isClosed = false;
  }
}

const refuseQuestion = (): never => {
  throw new VmcpError('client_cannot_answer', 'a tool asks the user while its workflow is a task');
};

/** Undefined: it has not ended by then. */
const endWithin = async (ms: number, ended: Promise<LegEnd>, clock: Clock): Promise<LegEnd | undefined> => {
  const over = new AbortController();
  try {
    return await Promise.race([ended, sleep(clock, ms, over.signal).then(() => undefined)]);
  } finally {
    over.abort();
  }
};
