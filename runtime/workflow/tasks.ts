import { type Call, readWorkflowTaskId, type Reply, type WorkflowTarget } from '../call/index.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { supportsTasks } from '../mcp/index.ts';
import type { Log, Meter } from '../observe/index.ts';
import { atMost, type Clock, sleep } from '../process/index.ts';
import type { Store } from '../store/index.ts';
import { Asking, refuseQuestion } from './asking.ts';
import type { Executions } from './executions.ts';
import { partOf } from './kept.ts';
import { type Leg, legOf, type LegDeps, type LegEnd, type LegOf, type Refuse, runLeg } from './leg.ts';
import type { WorkflowPlan } from './plan.ts';
import { answersTo, asksLater, demandAnswers, type StepAnswers } from './questions.ts';
import { replied } from './replies.ts';
import { timeIsUp } from './run.ts';
import { NOTHING_ASKED, RunningTasks, type TaskPlace, waitingOf } from './running-tasks.ts';
import { cancellable } from './scope.ts';
import { type TaskOwners, taskOwners } from './task-owners.ts';
import {
  type EndedTask,
  type KeptTask,
  type TaskRecord,
  type TaskRecords,
  taskRecords,
  type TaskRef,
  type WaitingTask,
} from './task-records.ts';
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

/** How long after the time of its workflow a task that still works at another process counts as ended. */
const LATE_MS = 2 * 60_000;

/** How long answers wait for steps that run, before their client has to repeat them, and how often that is checked. */
const ANSWER_WAIT_MS = 5_000;
const ANSWER_PAUSE_MS = 250;

/** How often a change of a record is tried again that other requests came before. */
const MOST_ROUNDS = 8;

/** Who asks about a task. */
interface By {
  readonly call: Call;
  readonly deps: TaskDeps;
}

/** Workflows that their clients look after as tasks (extension `io.modelcontextprotocol/tasks`). */
export class Tasks {
  readonly #deps: TasksDeps;
  readonly #records: TaskRecords;
  readonly #owners: TaskOwners;
  readonly #running: RunningTasks;

  constructor(deps: TasksDeps) {
    this.#deps = deps;
    this.#records = taskRecords(deps);
    this.#owners = taskOwners({
      ...deps,
      onCancel: (secret) => this.#running.cancel(secret),
      onBeat: () => void this.#running.check(),
      onCutOff: () => this.#running.cutOff(),
    });
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
    const first = (await atMost(deps.clock, TASK_AFTER_MS, ended)) ? await ended : undefined;
    if (first?.kind === 'over') return replied(call, first.result);
    const created = first || asking.close() ? await this.#created(leg, first) : undefined;
    if (!created) {
      asking.open();
      return otherwise(leg, first ?? (await ended));
    }
    const { ref, kept, place } = created;
    const before = NOTHING_ASKED;
    if (place) this.#running.add(place, { ref, kept, leg, scope, ended, before, refuse: deps.refuse });
    return createdReply(call, ref, kept.record);
  }

  async #created(leg: Leg, end: LegEnd | undefined): Promise<CreatedTask | undefined> {
    try {
      return await this.#create(leg, end);
    } catch (error) {
      if (asVmcpError(error).code !== 'busy')
        this.#deps.log.warn({ err: error }, 'a workflow cannot become a task: its client waits for the result');
      return undefined;
    }
  }

  /** Undefined: there is no room for its record. Throws `busy`, and what the store throws. */
  async #create({ call, plan, params, endsAt }: Leg, end: LegEnd | undefined): Promise<CreatedTask | undefined> {
    const { caller, client } = call;
    const now = this.#deps.clock.now();
    const common = { createdAt: now, updatedAt: now, endsAt, params };
    const of = { caller, workflow: plan.name, part: partOf(call) };
    if (end?.kind === 'waits') return this.#records.create(of, { ...common, state: waitingOf(end, NOTHING_ASKED) });
    const state = { kind: 'working', owner: this.#owners.own, asked: 0, open: {} } as const;
    const reserved = await this.#running.reserve({ caller, address: client.address, secret: undefined }, () =>
      this.#records.create(of, { ...common, state }),
    );
    return reserved && { ...reserved.written, place: reserved.place };
  }

  /** Answers `tasks/get`, `tasks/update` and `tasks/cancel`. Throws `unknown_name`, and what the store throws. */
  async answer(call: Call, { workflow }: WorkflowTarget, deps: TaskDeps): Promise<Reply> {
    const name = readWorkflowTaskId(call.name);
    if (!name) throw unknownTask();
    if (call.method === 'tasks/update') demandAnswers(call.answered?.answers);
    const ref = { caller: call.caller, workflow, secret: name.secret };
    const by = { call, deps };
    const kept = await this.#read(ref, by);
    if (call.method === 'tasks/get') return taskReply(call, ref, kept.record);
    if (call.method === 'tasks/cancel') await this.#cancel(ref, kept, by);
    else await this.#update(ref, kept, by);
    return acknowledged(call);
  }

  /** Throws `unknown_name`. */
  async #read(ref: TaskRef, by: By): Promise<KeptTask> {
    const read = await this.#records.read(ref);
    if (!read) throw unknownTask();
    return this.#current(ref, read, by);
  }

  /** A task whose time is over, or whose process has died, has ended, though no process has written so. */
  async #current(ref: TaskRef, kept: KeptTask, { call, deps }: By): Promise<KeptTask> {
    const error = await this.#endOf(ref, kept.record);
    if (!error) return kept;
    const ended = await this.#end(ref, kept, { state: endedBy(error, call, deps.refuse), error });
    return ended ?? (await this.#records.read(ref)) ?? kept;
  }

  /** Undefined: the task goes on, or its end is known. */
  async #endOf(ref: TaskRef, { state, endsAt }: TaskRecord): Promise<VmcpError | undefined> {
    if (state.kind === 'ended') return undefined;
    const now = this.#deps.clock.now();
    if (state.kind === 'waiting') {
      const { run } = state;
      return now < endsAt ? undefined : timeIsUp({ name: ref.workflow, timeoutMs: run.endsAt - run.startedAt });
    }
    const isOwn = state.owner === this.#owners.own;
    if (isOwn && this.#running.has(ref.secret)) return undefined;
    if (isOwn || now >= endsAt + LATE_MS) return taskEnded(ref, 'what has become of it could not be kept');
    if (await this.#owners.isAlive(state.owner)) return undefined;
    return taskEnded(ref, 'the process that ran it has ended; what its steps have done is not undone');
  }

  /** Ends a task, and what still runs of it. Undefined: its record has been replaced meanwhile. */
  async #end(ref: TaskRef, kept: KeptTask, by: { state: EndedTask; error: VmcpError }): Promise<KeptTask | undefined> {
    const ended = await this.#records.replace(ref, kept, by.state);
    const { state } = kept.record;
    if (!ended || state.kind === 'ended') return ended;
    if (state.kind === 'waiting') this.#deps.executions.giveUp(state.run.executionId, by.error);
    else if (state.owner === this.#owners.own) this.#running.cancel(ref.secret);
    else await this.#cancelAt(state.owner, ref.secret);
    return ended;
  }

  /** Where no message gets through, the process reads before long that the task has ended (`RunningTasks.check`). */
  async #cancelAt(owner: string, secret: string): Promise<void> {
    try {
      await this.#owners.cancelAt(owner, secret);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the process that runs a task cannot be told that the task has ended');
    }
  }

  async #cancel(ref: TaskRef, first: KeptTask, by: By): Promise<void> {
    const error = new VmcpError('cancelled', 'it was cancelled');
    const state: EndedTask = { kind: 'ended', status: 'cancelled', message: error.message };
    let kept = first;
    for (let left = MOST_ROUNDS; kept.record.state.kind !== 'ended'; left -= 1) {
      if (left === 0) throw busy();
      if (await this.#end(ref, kept, { state, error })) return;
      kept = await this.#read(ref, by);
    }
  }

  /** Of concurrent updates, one at a time goes on with the workflow. Answers to what is not asked are ignored. */
  async #update(ref: TaskRef, first: KeptTask, by: By): Promise<void> {
    const { clock } = this.#deps;
    const until = clock.now() + ANSWER_WAIT_MS;
    let rounds = 0;
    for (let kept = first; ; kept = await this.#read(ref, by)) {
      const outcome = await this.#goOn(ref, kept, by);
      if (outcome === 'done') return;
      if (outcome === 'later') await sleep(clock, ANSWER_PAUSE_MS);
      else rounds += 1;
      if (rounds >= MOST_ROUNDS || clock.now() >= until || by.call.signal.aborted) throw busy();
    }
  }

  /** `later`: steps run, and the questions wait until they have ended. `replaced`: another request came before. */
  async #goOn(ref: TaskRef, kept: KeptTask, by: By): Promise<'done' | 'later' | 'replaced'> {
    const { state } = kept.record;
    if (state.kind === 'ended') return 'done';
    const open = state.kind === 'waiting' ? stepsOf(state) : state.open;
    const answers = answersTo(by.call, new Map(Object.entries(open)));
    if (answers.size === 0) return 'done';
    if (state.kind === 'working') return 'later';
    const plan = this.#deps.planOf(ref.workflow);
    // Another replica may have the workflow as it was: while a change is rolled out, and after one that is undone.
    if (plan?.digest !== state.run.digest) throw changed(ref);
    return this.#goOnWith({ ref, kept, state, plan, answers }, by);
  }

  async #goOnWith({ ref, kept, state, plan, answers }: GoingOn, { call, deps }: By): Promise<'done' | 'replaced'> {
    const { requests, asked, run } = state;
    const { caller, secret } = ref;
    const open = Object.fromEntries(Object.entries(stepsOf(state)).filter(([, step]) => !answers.has(step)));
    const working = { kind: 'working', owner: this.#owners.own, asked, open } as const;
    const { address } = call.client;
    const reserved = await this.#running.reserve({ caller, address, secret }, () =>
      this.#records.replace(ref, kept, working),
    );
    if (!reserved) return 'replaced';
    const { place, written } = reserved;
    const { params } = written.record;
    const scope = cancellable(call.signal);
    const of = { call, plan, params, resumed: run, answers, signal: scope, onAsk: refuseQuestion };
    const leg = legOf(of, { ...this.#deps, clock: deps.clock });
    const ended = runLeg(leg, deps).finally(() => scope.end());
    const before = { requests, answers, asked };
    this.#running.add(place, { ref, kept: written, leg, scope, ended, before, refuse: deps.refuse });
    return 'done';
  }

  /** Resolves once the tasks that run in this process have ended and their outcomes are kept. */
  idle(): Promise<void> {
    return this.#running.idle();
  }

  stop(): Promise<void> {
    return this.#running.stop();
  }
}

interface CreatedTask {
  readonly ref: TaskRef;
  readonly kept: KeptTask;
  /** Undefined: the task waits for its user. */
  readonly place?: TaskPlace;
}

interface GoingOn {
  readonly ref: TaskRef;
  readonly kept: KeptTask;
  readonly state: WaitingTask;
  readonly plan: WorkflowPlan;
  readonly answers: StepAnswers;
}

/** The steps that have asked, by the key of each question. */
const stepsOf = ({ requests }: WaitingTask): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(requests).map(([key, { step }]) => [key, step]));

const busy = (): VmcpError => new VmcpError('busy', 'steps of the task run; try again later');

const changed = ({ workflow }: TaskRef): VmcpError =>
  new VmcpError('invalid_params', `the task cannot go on here: "${workflow}" has been changed since it began`);
